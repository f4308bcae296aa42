package nccl_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/nccl"
)

func TestCallsAreRefused(t *testing.T) {
	x := make([]float32, 12)
	of := func(i, j int) nccl.Buffer[float32] { return nccl.Of(x).Slice(i, j) }
	for _, tt := range []struct {
		name string
		call func(c *nccl.Comm) error // on rank 1 of 3
		want string
	}{
		{"lengths", func(c *nccl.Comm) error { return nccl.AllReduce(c, of(0, 2), of(3, 6), nccl.Sum) }, "dst has 2 elements and src 3"},
		{"overlap", func(c *nccl.Comm) error { return nccl.AllReduce(c, of(0, 4), of(2, 6), nccl.Sum) }, "overlap"},
		{"no op", func(c *nccl.Comm) error { return nccl.AllReduce(c, of(0, 1), of(0, 1), nil) }, ": op is nil, want one of sum, prod, max, min, avg"},
		{"unknown op", func(c *nccl.Comm) error { return nccl.ReduceScatter(c, of(0, 1), of(3, 6), nccl.BuiltinOp(9)) }, ": op 9 is none of sum, prod, max, min, avg"},
		{"op beyond a byte", func(c *nccl.Comm) error { return nccl.AllReduce(c, of(0, 1), of(0, 1), nccl.BuiltinOp(256)) }, ": op 256 is none of"},
		{"gather lengths", func(c *nccl.Comm) error { return nccl.AllGather(c, of(0, 6), of(6, 9)) }, "want 3 times the 3"},
		{"another rank's part", func(c *nccl.Comm) error { return nccl.AllGather(c, of(0, 6), of(0, 2)) }, "not its part 1"},
		{"scatter lengths", func(c *nccl.Comm) error { return nccl.ReduceScatter(c, of(0, 2), of(3, 6), nccl.Sum) }, "want 3 times the 2"},
		{"scatter overlap", func(c *nccl.Comm) error { return nccl.ReduceScatter(c, of(1, 3), of(0, 6), nccl.Sum) }, "not its part 1"},
		{"root below", func(c *nccl.Comm) error { return nccl.Broadcast(c, of(0, 1), of(0, 1), -1) }, "root -1"},
		{"root above", func(c *nccl.Comm) error { return nccl.Broadcast(c, of(0, 1), of(0, 1), 3) }, "root 3"},
		{"root without src", func(c *nccl.Comm) error { return nccl.Broadcast(c, of(0, 1), nccl.Buffer[float32]{}, 1) }, "src 0"},
		{"nil stream", func(c *nccl.Comm) error { return nccl.AllReduce(c.On(nil), of(0, 1), of(0, 1), nccl.Sum) }, "nil Stream"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := all(t, 3, nil)[1]
			err := tt.call(c)
			require.ErrorIs(t, err, nccl.ErrInvalid)
			require.ErrorContains(t, err, tt.want)
			require.ErrorContains(t, err, "on world, rank 1 of 3: ")
			require.Equal(t, err, nccl.Broadcast(c, of(0, 1), of(0, 1), 1), "what follows is refused too")
			require.Equal(t, err, c.Wait(t.Context()), "until a Wait reports it")
			require.NoError(t, c.Wait(t.Context()))
			require.NoError(t, c.Err(), "the communicator is as it was")
		})
	}
}

func TestStreamsRefuse(t *testing.T) {
	c := all(t, 1, nil)[0]
	s, err := c.NewStream()
	require.NoError(t, err)
	behind, err := c.NewStream()
	require.NoError(t, err)
	ran := false
	refusal := s.Call(nil)
	require.ErrorIs(t, refusal, nccl.ErrInvalid)
	require.Equal(t, refusal, s.Call(func() { ran = true }))
	require.Equal(t, refusal, behind.After(s), "so does a stream behind it")
	require.Equal(t, refusal, behind.Call(func() { ran = true }))
	for _, s := range []*nccl.Stream{s, behind} {
		require.Equal(t, refusal, s.Wait(t.Context()))
		require.NoError(t, s.Wait(t.Context()))
	}
	require.False(t, ran)
	require.NoError(t, errors.Join(s.Close(), s.Close()))
	require.ErrorIs(t, s.Call(func() {}), nccl.ErrClosed)
	require.ErrorIs(t, nccl.AllReduce(c.On(s), nccl.Of([]int8{1}), nccl.Of([]int8{1}), nccl.Sum), nccl.ErrClosed)
}

func TestWhatAClosedStreamWasGivenRuns(t *testing.T) {
	c := all(t, 1, nil)[0]
	s, err := c.NewStream()
	require.NoError(t, err)
	ran := make(chan struct{})
	require.NoError(t, s.Call(func() { close(ran) }))
	require.NoError(t, s.Close())
	<-ran
}

func TestEvents(t *testing.T) {
	c := all(t, 1, nil)[0]
	var start, end nccl.Event
	done, err := start.Done()
	require.NoError(t, err)
	require.False(t, done)
	require.ErrorIs(t, start.Wait(t.Context()), nccl.ErrInvalid)
	side, err := c.NewStream()
	require.NoError(t, err)

	open := make(chan struct{})
	require.NoError(t, c.Stream().Record(&start))
	require.NoError(t, c.Stream().Call(func() { <-open }))
	require.NoError(t, c.Stream().Record(&end))
	order := make(chan string, 2)
	require.NoError(t, side.WaitEvent(&end))
	require.NoError(t, side.Call(func() { order <- "side" }))
	require.NoError(t, start.Wait(t.Context()))
	done, err = end.Done()
	require.NoError(t, err)
	require.False(t, done)
	_, err = end.Since(&start)
	require.ErrorIs(t, err, nccl.ErrInvalid)
	late, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, end.Wait(late), context.Canceled)
	order <- "main"
	close(open)
	require.NoError(t, end.Wait(t.Context()))
	require.NoError(t, side.Wait(t.Context()))
	require.Equal(t, "main", <-order)
	took, err := end.Since(&start)
	require.NoError(t, err)
	require.Positive(t, took)
	require.NoError(t, errors.Join(end.Close(), end.Close()))
	require.ErrorIs(t, end.Wait(t.Context()), nccl.ErrClosed)
	require.ErrorIs(t, c.Stream().Record(&end), nccl.ErrClosed)
}

// A Stream's Wait gives up without ending anything.
func TestStreamWaitEndsWithItsContext(t *testing.T) {
	comms := all(t, 2, nil)
	x, y := []int32{1}, []int32{2}
	require.NoError(t, nccl.AllReduce(comms[0], nccl.Of(x), nccl.Of(x), nccl.Sum))
	cause := errors.New("later")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(time.Millisecond, func() { cancel(cause) })
	require.ErrorIs(t, comms[0].Stream().Wait(ctx), cause)
	require.NoError(t, nccl.AllReduce(comms[1], nccl.Of(y), nccl.Of(y), nccl.Sum))
	require.NoError(t, comms.Wait(t.Context()))
	require.Equal(t, []int32{3, 3}, append(x, y...))
}

func TestGroupKeepsOthersOut(t *testing.T) {
	c := all(t, 1, nil)[0]
	x := []float32{1}
	err := c.Group(func(g *nccl.Comm) error {
		require.NoError(t, nccl.AllReduce(g, nccl.Of(x), nccl.Of(x), nccl.Sum))
		require.ErrorIs(t, nccl.AllReduce(c, nccl.Of(x), nccl.Of(x), nccl.Sum), nccl.ErrGroupOpen)
		return nil
	})
	require.ErrorIs(t, err, nccl.ErrGroupOpen)
	require.ErrorIs(t, c.Wait(t.Context()), nccl.ErrGroupOpen)

	require.PanicsWithValue(t, "fell over", func() {
		c.Group(func(*nccl.Comm) error { panic("fell over") })
	})
	require.NoError(t, nccl.AllReduce(c, nccl.Of(x), nccl.Of(x), nccl.Sum), "no group is left open")
	require.NoError(t, c.Group(func(g *nccl.Comm) error {
		return g.Group(func(g *nccl.Comm) error { return nccl.AllReduce(g, nccl.Of(x), nccl.Of(x), nccl.Sum) })
	}))
	require.NoError(t, c.Wait(t.Context()))
}

func TestCommsGroup(t *testing.T) {
	comms := all(t, 3, nil)
	x := [3][]uint64{{1}, {2}, {4}}
	require.NoError(t, comms.Group(func(i int, c *nccl.Comm) error {
		return nccl.AllReduce(c, nccl.Of(x[i]), nccl.Of(x[i]), nccl.Sum)
	}))
	require.NoError(t, comms.Wait(t.Context()))
	require.Equal(t, [3][]uint64{{7}, {7}, {7}}, x)
}

func TestCheckTellsCallsApart(t *testing.T) {
	comms := all(t, 3, &nccl.Config{Check: true})
	err := each(comms, func(c *nccl.Comm) error {
		x := make([]float32, 8+c.Rank()/2)
		nccl.AllReduce(c, nccl.Of(x), nccl.Of(x), nccl.Sum)
		err := c.Wait(t.Context())
		m, ok := errors.AsType[*nccl.MismatchError](err)
		if !ok || !errors.Is(err, nccl.InvalidUsage) {
			return fmt.Errorf("want a mismatch, got %v", err)
		}
		if m.Seq != 1 || fmt.Sprint(m.Calls) != "map[AllReduce float32[8] sum:[0 1] AllReduce float32[9] sum:[2]]" {
			return fmt.Errorf("call %d: %v", m.Seq, m.Calls)
		}
		return nil
	})
	require.NoError(t, err)
}

func TestDeadlineNamesWhoDidNotCome(t *testing.T) {
	comms := all(t, 3, &nccl.Config{Deadline: 500 * time.Millisecond})
	x := []int8{1}
	for _, i := range []int{0, 2} {
		require.NoError(t, nccl.AllReduce(comms[i], nccl.Of(x), nccl.Of(x), nccl.Sum))
	}
	for _, c := range comms {
		<-c.Done()
		s, ok := errors.AsType[*nccl.StallError](c.Err())
		require.True(t, ok, "%v", c.Err())
		require.Equal(t, nccl.StallError{Op: "AllReduce", Seq: 1, Missing: []int{1}}, *s)
		require.ErrorIs(t, c.Wait(t.Context()), nccl.Timeout)
		require.ErrorContains(t, c.Err(), "set Config.Check")
	}
}

func TestCloseGivesUpOnOthers(t *testing.T) {
	comms := all(t, 2, &nccl.Config{CloseTimeout: time.Millisecond})
	err := comms[0].Close()
	require.ErrorIs(t, err, nccl.ErrAborted)
	require.ErrorContains(t, err, "did not close in time")
	require.ErrorContains(t, err, "set Config.Check")
	<-comms[1].Done()
	require.ErrorIs(t, comms[1].Err(), nccl.ErrAborted)
	require.NoError(t, comms[1].Close(), "a failed communicator is freed")
	require.Equal(t, err, comms[0].Close())
}

func TestFunctionsBehindAFailureAreSkipped(t *testing.T) {
	comms := all(t, 2, nil)
	c := comms[0]
	x := []int8{1}
	ran := false
	require.NoError(t, nccl.AllReduce(c, nccl.Of(x), nccl.Of(x), nccl.Sum))
	require.NoError(t, c.Stream().Call(func() { ran = true }))
	comms[1].Abort(nil)
	require.ErrorIs(t, c.Wait(t.Context()), nccl.ErrAborted)
	require.False(t, ran)
	require.NoError(t, c.Stream().Call(func() { ran = true }))
	require.NoError(t, c.Stream().Wait(t.Context()), "the failure was reported")
	require.True(t, ran)
}

func TestBuffers(t *testing.T) {
	c := all(t, 1, nil)[0]
	b, err := nccl.Make[uint8](c, 16)
	require.NoError(t, err)
	wide, err := nccl.Cast[uint64](b)
	require.NoError(t, err)
	require.Equal(t, 2, wide.Len())
	wide.Host()[1] = 0xff
	require.Equal(t, uint8(0xff), b.Host()[8])
	_, err = nccl.Cast[uint32](b.Slice(1, 5))
	require.ErrorIs(t, err, nccl.ErrInvalid, "not aligned")
	_, err = nccl.Cast[uint32](b.Slice(0, 6))
	require.ErrorIs(t, err, nccl.ErrInvalid, "no whole elements")
	require.Panics(t, func() { nccl.Of(make([]int8, 2, 9)).Slice(0, 3) })
	require.Panics(t, func() { b.Slice(3, 2) })
	_, err = nccl.Make[float64](c, -1)
	require.ErrorIs(t, err, nccl.ErrInvalid)
	for _, n := range []int{1 << 45, 1 << 50, 1 << 55, math.MaxInt / 8, math.MaxInt/8 + 1, math.MaxInt} {
		_, err = nccl.Make[float64](c, n)
		require.ErrorIs(t, err, nccl.ErrInvalid, "%d", n)
		_, err = nccl.MakeHost[int8](c, n)
		require.ErrorIs(t, err, nccl.ErrInvalid, "%d", n)
	}
	require.NoError(t, c.Err())
	require.NoError(t, wide.Close(), "a Cast is the whole buffer")
	require.Equal(t, uint8(0), b.Host()[8])
	require.NoError(t, nccl.Of([]int8{1}).Close())
	require.Equal(t, 0, nccl.Buffer[int8]{}.Len())
}

func TestUniqueIDKeepsItsSecret(t *testing.T) {
	id, err := nccl.NewUniqueID(nil)
	require.NoError(t, err)
	text, err := id.MarshalText()
	require.NoError(t, err)
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("", "id", id)
	for _, shown := range []string{id.String(), fmt.Sprint(id), fmt.Sprintf("%+v %#v %s", id, id, id), log.String()} {
		require.Contains(t, shown, id.String())
		require.NotContains(t, shown, string(text[80:112]))
		require.NotContains(t, shown, fmt.Sprintf("%d", id[40:56]))
	}
	var same nccl.UniqueID
	require.NoError(t, same.UnmarshalText(text))
	require.Equal(t, id, same)
	require.ErrorIs(t, same.UnmarshalText(text[1:]), nccl.ErrInvalid)
	require.ErrorIs(t, same.UnmarshalText(bytes.ToUpper(bytes.Replace(text, text[:1], []byte("x"), 1))), nccl.ErrInvalid)
	_, err = json.Marshal(id)
	require.NoError(t, err)
	// The id is used up by a communicator, and its listener with it.
	c, err := nccl.InitRank(t.Context(), 0, 1, []nccl.UniqueID{id}, nil)
	require.NoError(t, err)
	require.NoError(t, c.Close())
}

func TestInitRankRefuses(t *testing.T) {
	id, err := nccl.NewUniqueID(nil)
	require.NoError(t, err)
	for name, call := range map[string]func() error{
		"no id":   func() error { _, err := nccl.InitRank(t.Context(), 0, 2, nil, nil); return err },
		"two ids": func() error { _, err := nccl.InitRank(t.Context(), 0, 2, make([]nccl.UniqueID, 2), nil); return err },
		"a zero id": func() error {
			_, err := nccl.InitRank(t.Context(), 0, 2, make([]nccl.UniqueID, 1), nil)
			return err
		},
		"rank": func() error { _, err := nccl.InitRank(t.Context(), 2, 2, []nccl.UniqueID{id}, nil); return err },
	} {
		require.Error(t, call(), name)
	}
}

func TestNilAndZeroComm(t *testing.T) {
	x := []int8{1}
	for _, c := range []*nccl.Comm{nil, {}} {
		require.ErrorIs(t, nccl.AllReduce(c, nccl.Of(x), nccl.Of(x), nccl.Sum), nccl.ErrInvalid)
		_, err := nccl.Make[int8](c, 1)
		require.ErrorIs(t, err, nccl.ErrInvalid)
	}
}

func TestErrorsReadWell(t *testing.T) {
	err := &nccl.Error{Op: "AllReduce", Comm: "world", Rank: 1, Size: 4, Result: nccl.RemoteError, Hint: "look at its output",
		Err: &nccl.LostError{Ranks: []int{2, 3}, Hosts: []string{"b"}}}
	require.EqualError(t, err, "nccl: AllReduce on world, rank 1 of 4: lost ranks 2, 3 on b; look at its output")
	require.EqualError(t, nccl.Result(99), "unknown result (ncclResult 99)")
	for r := nccl.UnhandledCUDAError; r <= nccl.Timeout; r++ {
		require.False(t, strings.HasPrefix(r.Error(), "unknown"), "%d", r)
	}
}

// Operations in steady state allocate nothing, so loops of them leave the
// collector alone.
func TestCallsDoNotAllocate(t *testing.T) {
	comms := all(t, 1, nil)
	c, ctx := comms[0], context.Background()
	x := make([]float32, 100)
	var before, after runtime.MemStats
	const calls = 1000
	for range 2 { // once to warm up
		runtime.ReadMemStats(&before)
		for range calls {
			nccl.AllReduce(c, nccl.Of(x), nccl.Of(x), nccl.Sum)
			c.Wait(ctx)
		}
		runtime.ReadMemStats(&after)
	}
	require.Less(t, after.Mallocs-before.Mallocs, uint64(calls/10))
}

// A refused call that no Wait has reported does not make this rank look lost to
// the others.
func TestCloseAfterARefusedCall(t *testing.T) {
	comms := all(t, 2, nil)
	refusal := nccl.Broadcast(comms[0], nccl.Of([]int8{1}), nccl.Of([]int8{1}), 9)
	require.ErrorIs(t, refusal, nccl.ErrInvalid)
	errs := make(chan error, 2)
	require.Error(t, each(comms, func(c *nccl.Comm) error {
		err := c.Close()
		errs <- err
		return err
	}))
	require.ElementsMatch(t, []error{refusal, nil}, []error{<-errs, <-errs})
	for _, c := range comms {
		require.ErrorIs(t, c.Err(), nccl.ErrClosed)
	}
}
