package main

import (
	"bytes"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/rankenv"
	"github.com/gorun/gorun/rendezvous"
)

// A rankProcess is what one rank of a job of processes left.
type rankProcess struct {
	code           int
	stdout, stderr bytes.Buffer
}

// runProcesses runs the program as size ranks, each a process, that meet as
// they do under gorun, and returns when all have ended.
func runProcesses(t *testing.T, size int, args ...string) []*rankProcess {
	t.Helper()
	// Not t.TempDir, whose names can be longer than a socket's address.
	dir, err := os.MkdirTemp("", "mnist")
	require.NoError(t, err)
	defer os.RemoveAll(dir)
	socket := filepath.Join(dir, "job")
	serve(t, socket, size)

	ranks := make([]*rankProcess, size)
	commands := make([]*exec.Cmd, size)
	for rank := range size {
		place := rankenv.World{
			Rank: rank, Size: size, LocalRank: rank, LocalSize: size, Nodes: 1,
			Host: "localhost", Job: "test", Socket: socket,
		}
		ranks[rank] = new(rankProcess)
		commands[rank] = program(t, args...)
		commands[rank].Env = append(commands[rank].Env, place.Environ(rankenv.Gorun)...)
		commands[rank].Stdout, commands[rank].Stderr = &ranks[rank].stdout, &ranks[rank].stderr
		require.NoError(t, commands[rank].Start())
	}
	for rank, command := range commands {
		_ = command.Wait() // the exit status says it
		ranks[rank].code = command.ProcessState.ExitCode()
	}
	return ranks
}

// serve answers the ranks of a job of one host, as its agent would, until the
// test ends.
func serve(t *testing.T, socket string, size int) {
	t.Helper()
	host := rendezvous.Host{Name: "localhost"}
	for rank := range size {
		host.Ranks = append(host.Ranks, rank)
	}
	meetingPlace, err := rendezvous.NewMemory([]rendezvous.Host{host})
	require.NoError(t, err)
	l, err := net.Listen("unix", socket)
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- rendezvous.Serve(ctx, l, meetingPlace) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-ended)
	})
}

// TestPlacementDoesNotMatter trains in two processes, again, and in two
// goroutines of this process.
func TestPlacementDoesNotMatter(t *testing.T) {
	dir := subsetDir(t)
	conf := settings{epochs: 2, batch: 77, rate: 0.1, seed: 9}
	args := []string{"-data", dir, "-epochs=2", "-batch=77", "-lr=0.1", "-seed=9"}
	data, err := readDataset(dir)
	require.NoError(t, err)
	want := digestOf(trainWorld(t, 2, conf, data, nil).params).String()

	weights := regexp.MustCompile(`(?m)^weights sha256 ([0-9a-f]{64}) on every rank$`)
	for _, name := range []string{"first", "second"} {
		t.Run(name, func(t *testing.T) {
			ranks := runProcesses(t, 2, args...)
			for _, rank := range ranks {
				require.Zero(t, rank.code, "%s", &rank.stderr)
			}
			require.Empty(t, ranks[1].stdout.String())
			found := weights.FindStringSubmatch(ranks[0].stdout.String())
			require.NotNil(t, found, "%s", &ranks[0].stdout)
			require.Equal(t, want, found[1])
		})
	}
}

func TestEveryProcessNamesTheMissingFile(t *testing.T) {
	empty := t.TempDir()
	for number, rank := range runProcesses(t, 3, "-data", empty) {
		require.Equal(t, 1, rank.code)
		require.Empty(t, rank.stdout.String())
		require.Contains(t, rank.stderr.String(), filepath.Join(empty, trainImages))
		if number > 0 { // which heard of it from rank 0
			require.Contains(t, rank.stderr.String(), "receiving the size of the data")
		}
	}
}
