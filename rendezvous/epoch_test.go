package rendezvous_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/gorun/gorun/rendezvous"
)

// next lets ranks go on together and returns their new Jobs in that order.
func next(t *testing.T, jobs ...*rendezvous.Job) []*rendezvous.Job {
	on := make([]*rendezvous.Job, len(jobs))
	var all errgroup.Group
	for i, job := range jobs {
		all.Go(func() (err error) {
			on[i], err = job.NextEpoch(t.Context())
			return err
		})
	}
	require.NoError(t, all.Wait())
	return on
}

func TestNextEpoch(t *testing.T) {
	everywhere(t, func(t *testing.T, m *rendezvous.Memory, open func(int) *rendezvous.Job) {
		jobs, ctx := openAll(open), t.Context()
		blocked := make(chan error, 3)
		go func() { _, err := jobs[0].Get(ctx, "never"); blocked <- err }()
		go func() { blocked <- jobs[2].Barrier(ctx, "half") }()
		go func() {
			_, err := jobs[3].Lost(ctx) // ends with the verdict
			if err == nil {
				_, err = jobs[3].Fetch(ctx, 1, "never")
			}
			blocked <- err
		}()
		require.NoError(t, jobs[0].Put(ctx, "k", []byte("old")))
		require.NoError(t, m.Report(rendezvous.Event{Kind: rendezvous.Lost, Ranks: []int{1}, Host: "a"}))

		on := next(t, jobs[0], jobs[2], jobs[3])
		for range cap(blocked) {
			require.ErrorIs(t, <-blocked, rendezvous.ErrStale)
		}
		for rank, job := range on {
			require.Equal(t, 1, job.Epoch())
			require.Equal(t, []int{1}, job.Departed())
			w := job.World()
			require.Equal(t, []int{rank, 3}, []int{w.Rank, w.Size})
			require.Equal(t, [][]int{{0, 1, 0, 2}, {0, 2, 1, 2}, {1, 2, 1, 2}}[rank], []int{w.LocalRank, w.LocalSize, w.Node, w.Nodes})
		}
		require.ErrorIs(t, jobs[0].Put(ctx, "k", []byte("new")), rendezvous.ErrStale)
		require.ErrorIs(t, jobs[3].Barrier(ctx, "b"), rendezvous.ErrStale)
		require.NoError(t, jobs[3].Close(), "what it leaves is the next one")
		require.NoError(t, on[2].Put(ctx, "k", []byte("new")), "what was published is gone")
		v, err := on[0].Get(ctx, "k")
		require.NoError(t, err)
		require.Equal(t, "new", string(v))
		var all errgroup.Group
		for _, job := range on {
			all.Go(func() error {
				_, order, err := job.Ring(ctx, "")
				if err == nil && !slices.Equal(order, []int{0, 1, 2}) {
					err = fmt.Errorf("order %v", order)
				}
				return err
			})
		}
		require.NoError(t, all.Wait())

		// And again, without anybody lost.
		on = next(t, on...)
		require.Equal(t, 2, on[0].Epoch())
		require.Empty(t, on[0].Departed())
	})
}

func TestNextEpochNamesWhoHasNotCalled(t *testing.T) {
	everywhere(t, func(t *testing.T, m *rendezvous.Memory, open func(int) *rendezvous.Job) {
		jobs := openAll(open)
		require.NoError(t, m.Report(rendezvous.Event{Kind: rendezvous.Lost, Ranks: []int{3}}))
		_, err := jobs[0].NextEpoch(brief(t))
		missing, ok := errors.AsType[*rendezvous.MissingError](err)
		require.True(t, ok, "%v", err)
		require.Equal(t, []int{1, 2}, missing.Ranks)
		require.Equal(t, "epoch 1", missing.What)

		// Those who asked need not ask again; the verdict on the others is enough.
		require.NoError(t, m.Report(rendezvous.Event{Kind: rendezvous.Lost, Ranks: []int{1, 2}}))
		on := next(t, jobs[0])
		require.Equal(t, 1, on[0].Size())
	})
}

func TestEventsGoOnInTheNextEpoch(t *testing.T) {
	everywhere(t, func(t *testing.T, m *rendezvous.Memory, open func(int) *rendezvous.Job) {
		jobs := openAll(open)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		kinds := make(chan rendezvous.Event, 2)
		go func() {
			for ev := range jobs[0].Events(ctx) {
				if ev.Kind != rendezvous.Joined {
					kinds <- ev
				}
			}
		}()
		on := next(t, jobs...)
		ev := <-kinds
		require.Equal(t, rendezvous.NewEpoch, ev.Kind)
		require.Equal(t, []int{0, 1, 2, 3}, ev.Ranks)
		require.NoError(t, m.Report(rendezvous.Event{Kind: rendezvous.Lost, Epoch: 1, Ranks: []int{2}}))
		require.Equal(t, rendezvous.Lost, (<-kinds).Kind)
		lost, err := on[1].Lost(ctx)
		require.NoError(t, err)
		require.Equal(t, []int{2}, lost)
		require.Error(t, m.Report(rendezvous.Event{Kind: rendezvous.NewEpoch, Epoch: 1}), "nobody would go on")
	})
}
