package rendezvous_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/gorun/gorun/rankenv"
	"github.com/gorun/gorun/rendezvous"
)

// plan has four ranks on two hosts, ring order 1 0 2 3.
var plan = []rendezvous.Host{{Name: "a", Ranks: []int{1, 0}}, {Name: "b", Ranks: []int{2, 3}}}

func place(rank int) rankenv.World {
	return rankenv.World{Rank: rank, Size: 4, Host: string(rune('a' + rank/2)), Addr: "127.0.0.1"}
}

// serve answers on a Unix socket until the test ends.
func serve(t *testing.T, b rendezvous.Backend) (path string) {
	path = filepath.Join(t.TempDir(), "job")
	l, err := net.Listen("unix", path)
	require.NoError(t, err)
	serveOn(t, l, b)
	return path
}

func serveOn(t *testing.T, l net.Listener, b rendezvous.Backend) {
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- rendezvous.Serve(ctx, l, b) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-served)
	})
}

func openAt(t *testing.T, path string, rank int) *rendezvous.Job {
	w := place(rank)
	job, err := rendezvous.Open(t.Context(), &rendezvous.Config{World: &w, Address: "unix:" + path})
	require.NoError(t, err)
	t.Cleanup(func() { job.Close() })
	return job
}

// everywhere runs a test over each way to carry a Job. open opens ranks of plan.
func everywhere(t *testing.T, test func(t *testing.T, m *rendezvous.Memory, open func(rank int) *rendezvous.Job)) {
	t.Run("memory", func(t *testing.T) {
		m, err := rendezvous.NewMemory(plan)
		require.NoError(t, err)
		test(t, m, func(rank int) *rendezvous.Job {
			job := rendezvous.New(m, place(rank))
			t.Cleanup(func() { job.Close() })
			return job
		})
	})
	t.Run("socket", func(t *testing.T) {
		m, err := rendezvous.NewMemory(plan)
		require.NoError(t, err)
		path := serve(t, m)
		test(t, m, func(rank int) *rendezvous.Job { return openAt(t, path, rank) })
	})
}

func openAll(open func(rank int) *rendezvous.Job) []*rendezvous.Job {
	jobs := make([]*rendezvous.Job, 4)
	for rank := range jobs {
		jobs[rank] = open(rank)
	}
	return jobs
}

// brief ends soon: for waits that are expected not to succeed.
func brief(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	t.Cleanup(cancel)
	return ctx
}

func TestValues(t *testing.T) {
	everywhere(t, func(t *testing.T, _ *rendezvous.Memory, open func(int) *rendezvous.Job) {
		jobs, ctx := openAll(open), t.Context()
		var waiting errgroup.Group
		for _, job := range jobs {
			waiting.Go(func() error {
				v, err := job.Get(ctx, "k")
				if err == nil && string(v) != "v" {
					err = fmt.Errorf("rank %d got %q", job.Rank(), v)
				}
				return err
			})
		}
		require.NoError(t, jobs[2].Put(ctx, "k", []byte("v")))
		require.NoError(t, waiting.Wait())

		require.NoError(t, jobs[1].Put(ctx, "k", []byte("v")), "the same again")
		require.ErrorIs(t, jobs[0].Put(ctx, "k", []byte("w")), rendezvous.ErrExists)

		v, err := jobs[3].Get(ctx, "k")
		require.NoError(t, err)
		v[0] = 'x'
		v, err = jobs[3].Get(ctx, "k")
		require.NoError(t, err)
		require.Equal(t, "v", string(v), "what Get returns is the caller's")

		require.NoError(t, jobs[0].Put(ctx, "empty", nil))
		v, err = jobs[1].Get(ctx, "empty")
		require.NoError(t, err)
		require.Empty(t, v)
	})
}

func TestBounds(t *testing.T) {
	everywhere(t, func(t *testing.T, m *rendezvous.Memory, open func(int) *rendezvous.Job) {
		job, ctx := open(0), t.Context()
		big := make([]byte, rendezvous.MaxValue)
		require.NoError(t, job.Put(ctx, strings.Repeat("k", rendezvous.MaxKey), big))
		v, err := job.Get(ctx, strings.Repeat("k", rendezvous.MaxKey))
		require.NoError(t, err)
		require.Len(t, v, rendezvous.MaxValue)

		require.ErrorContains(t, job.Put(ctx, "k", append(big, 0)), "1048577 bytes")
		require.ErrorContains(t, job.Put(ctx, strings.Repeat("k", rendezvous.MaxKey+1), nil), "256 bytes")
		require.ErrorContains(t, job.Put(ctx, "", nil), "empty")
		require.ErrorContains(t, job.Put(ctx, "\x00ring", nil), "reserved")
		_, err = job.Get(ctx, "\x00ring")
		require.ErrorContains(t, err, "reserved")

		for i := 0; ; i++ {
			if err = job.Put(ctx, fmt.Sprint(i), big); err != nil {
				break
			}
			require.Less(t, i, 256)
		}
		require.ErrorContains(t, err, "at most 268435456")

		// A job that has no room left hears of its losses all the same.
		for size := len(big); size > 0; size /= 2 {
			for i := 0; job.Put(ctx, fmt.Sprint(size, i), big[:size]) == nil; i++ {
			}
		}
		require.Error(t, m.Report(rendezvous.Event{Kind: rendezvous.Suspected, Ranks: []int{1}}))
		require.NoError(t, m.Report(rendezvous.Event{Kind: rendezvous.Lost, Ranks: []int{1}}))
		lost, err := job.Lost(ctx)
		require.NoError(t, err)
		require.Equal(t, []int{1}, lost)
		require.NoError(t, m.Report(rendezvous.Event{Kind: rendezvous.NewEpoch, Ranks: []int{0}}))
	})
}

func TestExchange(t *testing.T) {
	everywhere(t, func(t *testing.T, _ *rendezvous.Memory, open func(int) *rendezvous.Job) {
		jobs, ctx := openAll(open), t.Context()
		long := strings.Repeat("x", 200<<10) // two do not fit into one frame
		var all errgroup.Group
		for _, job := range jobs {
			all.Go(func() error {
				values, err := job.Exchange(ctx, "x", fmt.Append(nil, job.Rank(), long))
				if err != nil {
					return err
				}
				for rank, v := range values {
					if string(v) != fmt.Sprint(rank, long) {
						return fmt.Errorf("rank %d got %.10q… of rank %d", job.Rank(), v, rank)
					}
				}
				return nil
			})
		}
		require.NoError(t, all.Wait())
		_, err := jobs[0].Exchange(ctx, "x", fmt.Append(nil, 0, long))
		require.ErrorIs(t, err, rendezvous.ErrExists, "a name serves once")
	})
}

func TestBarrierNamesTheMissing(t *testing.T) {
	everywhere(t, func(t *testing.T, _ *rendezvous.Memory, open func(int) *rendezvous.Job) {
		jobs := openAll(open)
		var early errgroup.Group
		for _, rank := range []int{0, 2} {
			early.Go(func() error { return jobs[rank].Barrier(brief(t), "b") })
		}
		err := early.Wait()
		missing, ok := errors.AsType[*rendezvous.MissingError](err)
		require.True(t, ok, "%v", err)
		require.Equal(t, `barrier "b"`, missing.What)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Subset(t, missing.Ranks, []int{1, 3})
		require.Equal(t, []string{"a", "b"}, missing.Hosts)

		err = jobs[0].Barrier(brief(t), "b")
		require.EqualError(t, err, `rendezvous: barrier "b": ranks 1,3 on a, b missing: context deadline exceeded`)

		var all errgroup.Group
		for _, job := range jobs {
			all.Go(func() error { return job.Barrier(t.Context(), "b") })
		}
		require.NoError(t, all.Wait(), "a call that ended early may be repeated")
	})
}

func TestGetNamesWhoHasNotOpened(t *testing.T) {
	everywhere(t, func(t *testing.T, _ *rendezvous.Memory, open func(int) *rendezvous.Job) {
		_, err := open(1).Get(brief(t), "k")
		require.EqualError(t, err, `rendezvous: key "k": ranks 0,2-3 on a, b missing: context deadline exceeded`)
		openAll(open)
		_, err = open(1).Get(brief(t), "k")
		require.EqualError(t, err, `rendezvous: key "k": no rank has published it: context deadline exceeded`)
	})
}

func TestRing(t *testing.T) {
	everywhere(t, func(t *testing.T, _ *rendezvous.Memory, open func(int) *rendezvous.Job) {
		var all errgroup.Group
		for _, job := range openAll(open) {
			all.Go(func() error {
				addrs, order, err := job.Ring(t.Context(), fmt.Sprint("addr", job.Rank()))
				if err == nil && fmt.Sprint(addrs, order) != "[addr0 addr1 addr2 addr3] [1 0 2 3]" {
					err = fmt.Errorf("rank %d got %v %v", job.Rank(), addrs, order)
				}
				return err
			})
		}
		require.NoError(t, all.Wait())
	})
}

func TestEvents(t *testing.T) {
	everywhere(t, func(t *testing.T, m *rendezvous.Memory, open func(int) *rendezvous.Job) {
		job := open(0)
		when := time.Unix(1700000000, 42)
		suspected := rendezvous.Event{Time: when, Kind: rendezvous.Suspected, Host: "b", Ranks: []int{2, 3}, Cause: "no answer"}
		gone := rendezvous.Event{Time: when, Kind: rendezvous.Lost, Host: "b", Ranks: []int{2, 3}, Cause: "stream closed"}
		require.NoError(t, m.Report(suspected))
		_, err := job.Lost(brief(t))
		require.ErrorIs(t, err, context.DeadlineExceeded, "suspicion is no loss")

		lost := make(chan []int)
		go func() {
			ranks, err := job.Lost(t.Context())
			if err != nil {
				ranks = nil
			}
			lost <- ranks
		}()
		require.NoError(t, m.Report(gone))
		require.Equal(t, []int{2, 3}, <-lost)
		again := gone
		again.Cause = "node time-out"
		require.NoError(t, m.Report(again), "a second witness of the same loss")
		require.NoError(t, m.Report(rendezvous.Event{Time: when, Kind: rendezvous.Lost, Ranks: []int{1}}))

		var seen []string
		for ev, err := range job.Events(t.Context()) {
			require.NoError(t, err)
			require.True(t, when.Equal(ev.Time))
			if seen = append(seen, ev.String()); len(seen) == 3 {
				break
			}
		}
		require.Equal(t, []string{"suspected: ranks 2-3 on b: no answer", "lost: ranks 2-3 on b: stream closed", "lost: rank 1"}, seen)
		ranks, err := job.Lost(t.Context())
		require.NoError(t, err)
		require.Equal(t, []int{1, 2, 3}, ranks)

		for _, err = range job.Events(brief(t)) {
			if err != nil {
				break
			}
		}
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, m.Report(rendezvous.Event{Kind: rendezvous.Lost, Ranks: []int{4}}), "want 0 to 3")
		require.ErrorIs(t, m.Report(rendezvous.Event{Kind: rendezvous.Lost, Epoch: 1}), rendezvous.ErrStale)
	})
}

func TestAbort(t *testing.T) {
	everywhere(t, func(t *testing.T, _ *rendezvous.Memory, open func(int) *rendezvous.Job) {
		jobs, ctx := openAll(open), t.Context()
		_, _, err := jobs[0].Aborted(brief(t), "world")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, `abort of "world"`)

		require.NoError(t, jobs[2].Abort(ctx, "world", "out of memory"))
		require.NoError(t, jobs[3].Abort(ctx, "world", "rank 2 aborted"), "several may")
		for _, job := range jobs {
			rank, reason, err := job.Aborted(ctx, "world")
			require.NoError(t, err)
			require.Equal(t, 2, rank)
			require.Equal(t, "out of memory", reason)
		}
		_, _, err = jobs[0].Aborted(brief(t), "other")
		require.Error(t, err)
	})
}

func TestCloseEndsWaits(t *testing.T) {
	everywhere(t, func(t *testing.T, _ *rendezvous.Memory, open func(int) *rendezvous.Job) {
		job, other := open(0), open(1)
		ctx := t.Context()
		ended := make(chan error, 4)
		go func() { _, err := job.Get(ctx, "k"); ended <- err }()
		go func() { ended <- job.Barrier(ctx, "b") }()
		go func() { _, err := job.Lost(ctx); ended <- err }()
		go func() {
			var last error
			for _, err := range job.Events(ctx) {
				last = err
			}
			ended <- last
		}()
		require.NoError(t, other.Put(ctx, "unrelated", nil))
		require.NoError(t, job.Close())
		require.NoError(t, job.Close())
		for range cap(ended) {
			require.ErrorIs(t, <-ended, rendezvous.ErrClosed)
		}
		require.ErrorIs(t, job.Put(ctx, "k", nil), rendezvous.ErrClosed)
		require.NoError(t, other.Put(ctx, "k", nil), "the meeting place is still there")
	})
}

func TestWorld(t *testing.T) {
	everywhere(t, func(t *testing.T, _ *rendezvous.Memory, open func(int) *rendezvous.Job) {
		job := open(3)
		require.Equal(t, place(3), job.World())
		require.Equal(t, []int{3, 4, 0}, []int{job.Rank(), job.Size(), job.Epoch()})
		require.Equal(t, netip.MustParseAddr("127.0.0.1"), job.Addr())
	})
}

func TestLocal(t *testing.T) {
	jobs := rendezvous.Local(3)
	var all errgroup.Group
	for _, job := range jobs {
		all.Go(func() error { return job.Barrier(t.Context(), "b") })
	}
	require.NoError(t, all.Wait())
	for rank, job := range jobs {
		require.Equal(t, rank, job.Rank())
		require.NoError(t, job.Close())
	}
	require.Panics(t, func() { rendezvous.Local(0) })
}

func TestPlan(t *testing.T) {
	for name, plan := range map[string][]rendezvous.Host{
		"empty":   nil,
		"twice":   {{Name: "a", Ranks: []int{0, 0}}},
		"gap":     {{Name: "a", Ranks: []int{0}}, {Name: "b", Ranks: []int{2}}},
		"invalid": {{Name: "a", Ranks: []int{-1}}},
	} {
		_, err := rendezvous.NewMemory(plan)
		require.ErrorContains(t, err, "the plan has", name)
	}
}

func TestDispute(t *testing.T) {
	m, err := rendezvous.NewMemory(plan)
	require.NoError(t, err)
	ctx := t.Context()
	m.Dispute(0, "k")
	require.NoError(t, m.Put(ctx, 0, "k", []byte("v")))
	m.Dispute(0, "k")
	require.ErrorIs(t, m.Put(ctx, 0, "k", []byte("v")), rendezvous.ErrExists)
	_, err = m.Get(ctx, 0, "k")
	require.ErrorIs(t, err, rendezvous.ErrExists)
}

func TestOtherEpochIsStale(t *testing.T) {
	m, err := rendezvous.NewMemory(plan)
	require.NoError(t, err)
	ctx := t.Context()
	_, err = m.Open(ctx, 1, 0)
	require.ErrorIs(t, err, rendezvous.ErrStale)
	require.ErrorIs(t, m.Put(ctx, 1, "k", nil), rendezvous.ErrStale)
	_, err = m.Get(ctx, 1, "k")
	require.ErrorIs(t, err, rendezvous.ErrStale)
	_, err = m.Exchange(ctx, 1, 0, "k", nil)
	require.ErrorIs(t, err, rendezvous.ErrStale)
	_, err = m.Lost(ctx, 1)
	require.ErrorIs(t, err, rendezvous.ErrStale)
	for _, err = range m.Events(ctx, 1) {
	}
	require.ErrorIs(t, err, rendezvous.ErrStale)
}
