package gossip_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/gorun/gorun/rendezvous"
	"github.com/gorun/gorun/rendezvous/gossip"
)

// A host is lost in the middle of a barrier; the launcher tells one member after
// the other, and the ranks that live go on.
func TestNextEpochOfACluster(t *testing.T) {
	for _, tc := range []struct {
		name string
		lost int
		told []int // members to which the launcher's word comes; the others have it from them
	}{
		{"a leaf", 11, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}},
		{"an inner node", 1, []int{5}},
		{"the root", 0, []int{1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				hosts := roster(12, 2)
				c := startBlocked(t, hosts, func(int, int) bool { return false }, func(*gossip.Config) {})
				c.open(hosts)
				c.meet(t)
				c.eachRank(t, talk)
				require.NoError(t, c.jobs[23-2*tc.lost].Put(t.Context(), "k", []byte("old")))
				gossip.Silence(c.nodes[tc.lost])

				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				tell := func(ev rendezvous.Event) {
					ev.Time = time.Now()
					for _, node := range tc.told {
						require.NoError(t, c.nodes[node].Report(ev))
						time.Sleep(3 * time.Millisecond)
					}
				}
				var on []int
				var all errgroup.Group
				var living []*rendezvous.Job
				for rank, job := range c.jobs {
					if rank/2 == tc.lost {
						continue
					}
					on = append(on, rank)
					living = append(living, nil)
					i := len(living) - 1
					all.Go(func() (err error) {
						if err := job.Barrier(ctx, "last"); !errors.Is(err, rendezvous.ErrStale) {
							return fmt.Errorf("rank %d: %w", rank, err)
						}
						if living[i], err = job.NextEpoch(ctx); err != nil {
							return err
						}
						return talk(ctx, living[i]) // some before the others know of the epoch
					})
				}
				time.Sleep(time.Second)
				tell(rendezvous.Event{Kind: rendezvous.Lost, Host: hosts[tc.lost].Name, Ranks: hosts[tc.lost].Ranks})
				tell(rendezvous.Event{Kind: rendezvous.NewEpoch, Ranks: on})
				require.NoError(t, all.Wait())
				for rank, job := range living {
					require.Equal(t, []int{rank, 22, 1}, []int{job.Rank(), job.Size(), job.Epoch()})
					require.Equal(t, hosts[tc.lost].Ranks, job.Departed())
				}
				require.NoError(t, living[0].Put(ctx, "k", []byte("new")))
				v, err := living[21].Get(ctx, "k")
				require.NoError(t, err)
				require.Equal(t, "new", string(v))

				// A loss of the new epoch is counted in it.
				require.NoError(t, c.nodes[tc.told[0]].Report(rendezvous.Event{Kind: rendezvous.Lost, Epoch: 1, Ranks: []int{21}}))
				lost, err := living[0].Lost(ctx)
				require.NoError(t, err)
				require.Equal(t, []int{21}, lost)

				// Nobody has anything to repair.
				c.star.mu.Lock()
				sent := c.star.sent
				c.star.mu.Unlock()
				time.Sleep(30 * time.Second)
				c.star.mu.Lock()
				defer c.star.mu.Unlock()
				require.LessOrEqual(t, c.star.sent, sent+4)
			})
		})
	}
}

func TestNextEpochNamesWhoHasNotCalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hosts := roster(3, 2)
		c := startBlocked(t, hosts, func(int, int) bool { return false }, func(*gossip.Config) {})
		c.open(hosts)
		c.meet(t)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		var all errgroup.Group
		for _, rank := range []int{0, 2, 4, 5} {
			all.Go(func() error {
				_, err := c.jobs[rank].NextEpoch(ctx)
				if err == nil || err.Error() != `rendezvous: epoch 1: ranks 1,3 on h0, h1 missing: context deadline exceeded` {
					return fmt.Errorf("rank %d: %w", rank, err)
				}
				return nil
			})
		}
		require.NoError(t, all.Wait())
	})
}
