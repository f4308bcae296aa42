//go:build linux

package endtoend

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/internal/testhost/cluster"
)

// left is a process that outlives its rank, agent and guardian if these are
// killed at once.
const left = "setsid sh -c 'trap \"\" TERM HUP; echo left; while :; do sleep 0.1; done; : " + marker + "' & wait"

func TestCleanEndsWhatALostJobHasLeftAndNothingElse(t *testing.T) {
	c := stage(t, cluster.Config{Hosts: 2, Slots: 1})
	await := func(j *job, word string) {
		t.Helper()
		seen := &counter{word: word}
		j.Cmd.Stdout = seen
		require.NoError(t, j.Start())
		require.Eventually(t, func() bool { return seen.count() == 2 }, 20*time.Second, 5*time.Millisecond, "%s", &j.stderr)
	}
	lost := gorun(c, "sh", "-c", left)
	await(lost, "left")
	agents := map[*cluster.Host][]int{}
	for _, h := range c.Hosts {
		agents[h] = find(t, h, "agent")
	}
	runs := gorun(c, "sh", "-c", "echo runs; exec sleep "+marker)
	await(runs, "runs")

	// All at once: the guardian must not get to its work.
	for _, sig := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGKILL} {
		for h, pids := range agents {
			require.NotEmpty(t, pids)
			for _, pid := range pids {
				require.NoError(t, h.Signal(pid, sig))
			}
		}
		require.NoError(t, lost.Process.Signal(sig))
	}
	lost.Wait()
	for _, h := range c.Hosts {
		require.NotEmpty(t, find(t, h, "echo left"), "nothing is left on %s", h.Name)
	}

	clean := func(args ...string) (string, int) {
		j := gorun(c, args...)
		// The verb comes before the flags that every command has.
		j.Cmd.Args = append([]string{j.Cmd.Args[0], "clean"}, j.Cmd.Args[1:]...)
		require.NoError(t, j.Start())
		status := j.status(t)
		return j.stdout.String() + j.stderr.String(), status
	}
	said, status := clean("--dry-run")
	require.Equal(t, 1, status, "%s", said)
	said, status = clean()
	require.Equal(t, 0, status, "%s", said)
	require.Equal(t, 2, strings.Count(said, "of 1 lost job, ended; 1 job runs"), "%s", said)
	said, status = clean()
	require.Equal(t, 0, status, "%s", said)
	require.Equal(t, 2, strings.Count(said, "no lost job; 1 job runs"), "%s", said)
	for _, h := range c.Hosts {
		require.Empty(t, find(t, h, "echo left"))
		require.NotEmpty(t, find(t, h, "sleep", marker), "the other job was harmed on %s", h.Name)
	}
	require.NoError(t, runs.Process.Signal(syscall.SIGTERM))
	require.Equal(t, 143, runs.status(t), "%s", &runs.stderr)
	requireClean(t, c)
}
