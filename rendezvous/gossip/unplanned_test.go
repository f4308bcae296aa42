package gossip_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/gorun/gorun/rankenv"
	"github.com/gorun/gorun/rendezvous"
	"github.com/gorun/gorun/rendezvous/gossip"
)

// The environment by which the test binary is a rank that nobody of ours has
// started: the file of the key, and where rank 0 is.
const (
	rankKey  = "GOSSIP_TEST_KEY"
	rankSeed = "GOSSIP_TEST_SEED"
)

func beRank(keyFile string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	world, err := rankenv.Current()
	if err != nil {
		return err
	}
	key, err := gossip.ReadKey(keyFile)
	if err != nil {
		return err
	}
	node, err := gossip.Join(ctx, &gossip.Config{World: world, Key: key, Seeds: []string{os.Getenv(rankSeed)}})
	if err != nil {
		return err
	}
	defer node.Close()
	job := rendezvous.New(node, world)
	if err := talk(ctx, job); err != nil {
		return err
	}
	if err := job.Offer(ctx, "own", fmt.Append(nil, job.Rank())); err != nil {
		return err
	}
	next := (job.Rank() + 1) % job.Size()
	if v, err := job.Fetch(ctx, next, "own"); err != nil || string(v) != fmt.Sprint(next) {
		return fmt.Errorf("rank %d fetched %q: %w", job.Rank(), v, err)
	}
	// Who leaves takes its offers along.
	return job.Barrier(ctx, "end")
}

func TestProcessesMeetWithoutALauncher(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	key := filepath.Join(t.TempDir(), "key")
	secret := make([]byte, 32)
	rand.Read(secret)
	require.NoError(t, os.WriteFile(key, secret, 0o600))
	seed := fmt.Sprintf("127.0.0.1:%d", freePort(t))
	const size = 5
	var all errgroup.Group
	for rank := range size {
		w := rankenv.World{Rank: rank, Size: size, LocalRank: rank, LocalSize: size, Nodes: 1}
		cmd := exec.CommandContext(t.Context(), self)
		cmd.Env = append(w.Environ(rankenv.PMI), rankKey+"="+key, rankSeed+"="+seed)
		all.Go(func() error {
			out, err := cmd.CombinedOutput()
			if err != nil {
				return fmt.Errorf("rank %d: %w: %s", rank, err, out)
			}
			return nil
		})
	}
	require.NoError(t, all.Wait())
}

func TestMissingMembersAreNamedWithoutALauncher(t *testing.T) {
	world := rankenv.World{Rank: 0, Size: 3}
	node, err := gossip.Join(t.Context(), &gossip.Config{
		World: world, Key: make([]byte, 32), Seeds: []string{fmt.Sprintf("127.0.0.1:%d", freePort(t))},
	})
	require.NoError(t, err)
	defer node.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err = rendezvous.New(node, world).Barrier(ctx, "b")
	missing, ok := errors.AsType[*rendezvous.MissingError](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, []int{1, 2}, missing.Ranks)
}

func TestKeysAreRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	_, err := gossip.ReadKey(path)
	require.ErrorIs(t, err, os.ErrNotExist)
	for size, want := range map[int]string{15: "has 15 bytes, want 16 to 4096", 4097: "want 16 to 4096"} {
		require.NoError(t, os.WriteFile(path, make([]byte, size), 0o600))
		_, err = gossip.ReadKey(path)
		require.ErrorContains(t, err, want)
	}
	require.NoError(t, os.WriteFile(path, make([]byte, 16), 0o600))
	key, err := gossip.ReadKey(path)
	require.NoError(t, err)
	require.Len(t, key, 32)
}

func TestASeedThatIsNotKnownYetIsWaitedFor(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	var said bytes.Buffer
	_, err := gossip.Join(ctx, &gossip.Config{
		World: rankenv.World{Rank: 1, Size: 2}, Key: make([]byte, 32),
		Seeds: []string{"no..name:7946"}, // which no name service is asked for
		Log:   slog.New(slog.NewTextHandler(&said, nil)),
	})
	require.ErrorContains(t, err, "no address reaches seed no..name:7946")
	require.ErrorIs(t, ctx.Err(), context.DeadlineExceeded)
	require.Equal(t, 1, strings.Count(said.String(), "not known yet"))
}

func TestASeedWithoutARouteIsNotWaitedFor(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	_, err := gossip.Join(ctx, &gossip.Config{
		World: rankenv.World{Rank: 1, Size: 2}, Key: make([]byte, 32), Seeds: []string{"[fe80::1%nowhere]:7946"},
	})
	require.ErrorContains(t, err, "no address reaches seed [fe80::1%nowhere]:7946")
	require.NoError(t, ctx.Err())
}
