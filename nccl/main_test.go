package nccl_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/gorun/gorun/nccl"
	"github.com/gorun/gorun/rendezvous"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// all makes a communicator of n ranks in this process and closes it at the end
// of the test.
func all(t testing.TB, n int, conf *nccl.Config) nccl.Comms {
	t.Helper()
	comms, err := nccl.InitAll(t.Context(), n, conf)
	require.NoError(t, err)
	t.Cleanup(func() { comms.Close() })
	return comms
}

// each runs fn on all ranks at once.
func each(comms nccl.Comms, fn func(c *nccl.Comm) error) error {
	errs := make([]error, len(comms))
	var wg sync.WaitGroup
	for i, c := range comms {
		wg.Go(func() { errs[i] = fn(c) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// initJobs runs Init on the ranks of a job in memory.
func initJobs(ctx context.Context, conf func(*rendezvous.Job) *nccl.Config, jobs []*rendezvous.Job) (nccl.Comms, error) {
	comms := make(nccl.Comms, len(jobs))
	errs := make([]error, len(jobs))
	var wg sync.WaitGroup
	for i, job := range jobs {
		wg.Go(func() { comms[i], errs[i] = nccl.Init(ctx, conf(job)) })
	}
	wg.Wait()
	return comms, errors.Join(errs...)
}

// loopback is a Job whose host is reached at 127.0.0.1.
type loopback struct{ *rendezvous.Job }

func (loopback) Addr() netip.Addr { return netip.MustParseAddr("127.0.0.1") }

func overJob(job *rendezvous.Job) *nccl.Config { return &nccl.Config{Bootstrap: loopback{job}} }

func local(t *testing.T, n int) []*rendezvous.Job {
	jobs := rendezvous.Local(n)
	t.Cleanup(func() {
		for _, j := range jobs {
			j.Close()
		}
	})
	return jobs
}

func TestInitMeetsThroughTheJob(t *testing.T) {
	for _, n := range []int{1, 2, 4} {
		comms, err := initJobs(t.Context(), overJob, local(t, n))
		require.NoError(t, err)
		x := make([][]int32, n)
		for i, c := range comms {
			require.Equal(t, []int{i, n}, []int{c.Rank(), c.Size()})
			require.Equal(t, "world", c.Name())
			require.Equal(t, nccl.Host, c.Engine())
			x[i] = []int32{int32(i)}
			require.NoError(t, nccl.AllReduce(c, nccl.Of(x[i]), nccl.Of(x[i]), nccl.Sum))
		}
		require.NoError(t, comms.Wait(t.Context()))
		require.NoError(t, comms.Close())
		for i := range x {
			require.Equal(t, int32(n*(n-1)/2), x[i][0])
		}
	}
}

func TestInitAloneNeedsNobody(t *testing.T) {
	c, err := nccl.Init(t.Context(), nil)
	require.NoError(t, err)
	x := []float64{3, 4}
	require.NoError(t, nccl.AllReduce(c, nccl.Of(x), nccl.Of(x), nccl.Avg))
	require.NoError(t, c.Wait(t.Context()))
	require.Equal(t, []float64{3, 4}, x)
	require.NoError(t, c.Close())
}

func TestInitEndsWithItsContext(t *testing.T) {
	jobs := local(t, 3)
	cause := errors.New("it is late")
	ctx, cancel := context.WithCancelCause(t.Context())
	seen := make(chan struct{})
	go func() {
		jobs[0].Get(t.Context(), "nccl/world/id")
		close(seen)
	}()
	var err error
	var wg sync.WaitGroup
	wg.Go(func() { _, err = nccl.Init(ctx, overJob(jobs[0])) })
	<-seen
	cancel(cause)
	wg.Wait()
	require.ErrorIs(t, err, cause)
	e, ok := errors.AsType[*nccl.Error](err)
	require.True(t, ok)
	require.Equal(t, []any{"Init", "world", 0, 3}, []any{e.Op, e.Comm, e.Rank, e.Size})
}

func TestInitRefusesRanksThatDiffer(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err := initJobs(ctx, func(j *rendezvous.Job) *nccl.Config {
		conf := overJob(j)
		conf.Check = j.Rank() == 1
		return conf
	}, local(t, 3))
	require.ErrorContains(t, err, "ranks 0 and 1 differ in Check")
}

// An abort reaches ranks through the job alone too.
func TestJobCarriesAborts(t *testing.T) {
	jobs := local(t, 2)
	comms, err := initJobs(t.Context(), overJob, jobs)
	require.NoError(t, err)
	defer comms.Close()
	require.NoError(t, jobs[1].Abort(t.Context(), "world", "for a reason"))
	for _, c := range comms {
		<-c.Done()
		require.ErrorIs(t, c.Err(), nccl.ErrAborted)
		require.ErrorContains(t, c.Err(), "by rank 1: for a reason")
	}
}

// watcher is a job that can lose ranks.
type watcher struct {
	loopback
	lost chan []int
}

func (w watcher) Lost(ctx context.Context) ([]int, error) {
	select {
	case ranks := <-w.lost:
		return ranks, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// asker is a watcher that says when it is asked for a key.
type asker struct {
	watcher
	asked chan struct{}
}

func (a asker) Get(ctx context.Context, key string) ([]byte, error) {
	close(a.asked)
	return a.watcher.Get(ctx, key)
}

func watch(job *rendezvous.Job) watcher { return watcher{loopback{job}, make(chan []int, 1)} }

func requireLost(t *testing.T, rank int, err error) {
	t.Helper()
	lost, ok := errors.AsType[*nccl.LostError](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, []int{rank}, lost.Ranks)
}

// A rank that ends without a call of Init is heard of by those who wait for it,
// wherever they wait.
func TestInitEndsWithALoss(t *testing.T) {
	t.Run("before it begins", func(t *testing.T) {
		w := watch(local(t, 2)[0])
		w.lost <- []int{1}
		_, err := nccl.Init(t.Context(), &nccl.Config{Bootstrap: w})
		requireLost(t, 1, err)
	})
	t.Run("rank 0 waits for connections", func(t *testing.T) {
		jobs := local(t, 2)
		w := watch(jobs[0])
		go func() {
			jobs[1].Get(t.Context(), "nccl/world/id") // rank 0 is listening
			w.lost <- []int{1}
		}()
		_, err := nccl.Init(t.Context(), &nccl.Config{Bootstrap: w})
		requireLost(t, 1, err)
	})
	t.Run("rank 1 waits for the id of rank 0", func(t *testing.T) {
		a := asker{watch(local(t, 2)[1]), make(chan struct{})}
		go func() {
			<-a.asked
			a.lost <- []int{0}
		}()
		_, err := nccl.Init(t.Context(), &nccl.Config{Bootstrap: a})
		requireLost(t, 0, err)
	})
	t.Run("ranks 0 and 1 wait for rank 2", func(t *testing.T) {
		jobs := local(t, 3)
		zero, one := watch(jobs[0]), asker{watch(jobs[1]), make(chan struct{})}
		go func() {
			<-one.asked
			jobs[2].Get(t.Context(), "nccl/world/id")
			zero.lost <- []int{2}
			one.lost <- []int{2}
		}()
		var errs [2]error
		var wg sync.WaitGroup
		wg.Go(func() { _, errs[0] = nccl.Init(t.Context(), &nccl.Config{Bootstrap: zero}) })
		wg.Go(func() { _, errs[1] = nccl.Init(t.Context(), &nccl.Config{Bootstrap: one}) })
		wg.Wait()
		for _, err := range errs {
			requireLost(t, 2, err)
		}
	})
}

// lossy makes a communicator of two ranks, the first of which can be told of losses.
func lossy(t *testing.T) (watcher, nccl.Comms) {
	jobs := local(t, 2)
	w := watch(jobs[0])
	comms, err := initJobs(t.Context(), func(j *rendezvous.Job) *nccl.Config {
		if j.Rank() == 0 {
			return &nccl.Config{Bootstrap: w}
		}
		return overJob(j)
	}, jobs)
	require.NoError(t, err)
	t.Cleanup(func() { comms.Close() })
	return w, comms
}

func TestALossAfterInitIsPassedOn(t *testing.T) {
	w, comms := lossy(t)
	w.lost <- []int{1}
	for _, c := range comms {
		<-c.Done()
		requireLost(t, 1, c.Err())
		require.ErrorContains(t, c.Err(), " on ", "where it was")
		require.ErrorContains(t, c.Err(), "set Config.Check")
	}
}

// What is done stays done: the loss is the next call's.
func TestWaitReportsWhatWasDoneBeforeALoss(t *testing.T) {
	w, comms := lossy(t)
	x := [2][]int32{{1}, {2}}
	for i, c := range comms {
		require.NoError(t, nccl.AllReduce(c, nccl.Of(x[i]), nccl.Of(x[i]), nccl.Sum))
	}
	var done nccl.Event
	c := comms[0]
	require.NoError(t, c.Stream().Record(&done))
	require.NoError(t, done.Wait(t.Context()))
	w.lost <- []int{1}
	<-c.Done()
	require.NoError(t, c.Wait(t.Context()))
	require.Equal(t, []int32{3}, x[0])
	requireLost(t, 1, nccl.AllReduce(c, nccl.Of(x[0]), nccl.Of(x[0]), nccl.Sum))
	requireLost(t, 1, c.Wait(t.Context()))
}

func TestEngineIsChosen(t *testing.T) {
	for _, tt := range []struct {
		conf nccl.Engine
		env  string
		want error
	}{
		{nccl.Auto, "", nil},
		{nccl.Auto, "auto", nil},
		{nccl.Auto, "host", nil},
		{nccl.Host, "nccl", nil},
		{nccl.Auto, "nccl", errors.ErrUnsupported},
		{nccl.NCCL, "", errors.ErrUnsupported},
		{nccl.Auto, "gpu", nccl.ErrInvalid},
		{nccl.Engine(7), "", nccl.ErrInvalid},
	} {
		t.Run(fmt.Sprintf("%v, GORUN_ENGINE=%s", tt.conf, tt.env), func(t *testing.T) {
			t.Setenv("GORUN_ENGINE", tt.env)
			comms, err := nccl.InitAll(t.Context(), 1, &nccl.Config{Engine: tt.conf})
			require.ErrorIs(t, err, tt.want)
			require.NoError(t, comms.Close())
		})
	}
}
