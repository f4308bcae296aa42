package rendezvous_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/gorun/gorun/rendezvous"
)

func TestOffers(t *testing.T) {
	everywhere(t, func(t *testing.T, _ *rendezvous.Memory, open func(int) *rendezvous.Job) {
		jobs, ctx := openAll(open), t.Context()
		fetched := make(chan []byte)
		go func() {
			v, _ := jobs[0].Fetch(ctx, 3, "addr")
			fetched <- v
		}()
		require.NoError(t, jobs[2].Offer(ctx, "addr", []byte("of 2")), "each rank has keys of its own")
		require.NoError(t, jobs[3].Offer(ctx, "addr", []byte("of 3")))
		require.Equal(t, "of 3", string(<-fetched))
		require.NoError(t, jobs[3].Offer(ctx, "addr", []byte("of 3")), "the same again")
		require.ErrorIs(t, jobs[3].Offer(ctx, "addr", nil), rendezvous.ErrExists)

		_, err := jobs[0].Get(brief(t), "addr")
		require.Error(t, err, "an offer is not a value of the job")
		_, err = jobs[0].Fetch(brief(t), 1, "addr")
		missing, ok := errors.AsType[*rendezvous.MissingError](err)
		require.True(t, ok, "%v", err)
		require.Equal(t, []int{1}, missing.Ranks)
		require.Equal(t, []string{"a"}, missing.Hosts)
		_, err = jobs[0].Fetch(ctx, 4, "addr")
		require.ErrorContains(t, err, "rank is 4, want 0 to 3")
		require.ErrorContains(t, jobs[0].Offer(ctx, "\x00", nil), "reserved")
	})
}

// One rank of a host brings what all of them have, and the others only wait.
func TestBarrierMeetsExchange(t *testing.T) {
	everywhere(t, func(t *testing.T, _ *rendezvous.Memory, open func(int) *rendezvous.Job) {
		jobs := openAll(open)
		var all errgroup.Group
		for _, job := range jobs {
			all.Go(func() error {
				if job.Rank()%2 == 1 {
					return job.Barrier(t.Context(), "fence")
				}
				values, err := job.Exchange(t.Context(), "fence", []byte(job.World().Host))
				if err == nil {
					require.Equal(t, [][]byte{[]byte("a"), {}, []byte("b"), {}}, values)
				}
				return err
			})
		}
		require.NoError(t, all.Wait())
		require.ErrorIs(t, jobs[1].Barrier(context.Background(), "fence"), rendezvous.ErrExists)
	})
}
