// Package conformance is what every engine must pass: [Tests], each of which
// all ranks of a fresh communicator run together. A test checks what this rank
// can see, every element and the memory around it, and returns the first thing
// that is wrong.
//
// The tests say nothing about how ranks are started: an engine's own tests run
// them inside one process and between several.
package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/gorun/gorun/nccl"
)

// Test is one thing that an engine must do.
type Test struct {
	Name string
	Run  func(ctx context.Context, c *nccl.Comm) error // collective, on a communicator of its own, which Run need not close
}

// Tests are all of them.
var Tests = []Test{
	{"collectives", collectives},
	{"memory", memory},
	{"groups", groups},
	{"streams", streams},
	{"barrier", barrier},
	{"finalize", finalize},
	{"abort", abort},
	{"cancel", cancel},
}

// memory checks that what Make gives is zero, is moved, and reads as zeros after Close.
func memory(ctx context.Context, c *nccl.Comm) error {
	b, err := nccl.MakeHost[int32](c, 1000)
	if err != nil {
		return err
	}
	x := b.Host()
	for i, v := range x {
		if v != 0 {
			return fmt.Errorf("new memory has %d at %d", v, i)
		}
		x[i] = 1
	}
	if err := b.Slice(1, 3).Close(); !errors.Is(err, nccl.ErrInvalid) {
		return fmt.Errorf("closing a slice: %v", err)
	}
	if err := nccl.AllReduce(c, b, b, nccl.Sum); err != nil {
		return err
	}
	if err := c.Wait(ctx); err != nil {
		return err
	}
	for i, v := range x {
		if v != int32(c.Size()) {
			return fmt.Errorf("the sum is %d at %d, want %d", v, i, c.Size())
		}
	}
	if err := errors.Join(b.Close(), b.Close()); err != nil {
		return err
	}
	if i := slices.IndexFunc(x, func(v int32) bool { return v != 0 }); i >= 0 {
		return fmt.Errorf("closed memory has %d at %d", x[i], i)
	}
	if err := nccl.AllReduce(c, b, b, nccl.Sum); !errors.Is(err, nccl.ErrClosed) {
		return fmt.Errorf("a call on closed memory: %v", err)
	}
	if err := c.Wait(ctx); !errors.Is(err, nccl.ErrClosed) {
		return fmt.Errorf("waiting after a refused call: %v", err)
	}
	return c.Wait(ctx)
}

// groups checks that a group is one unit, and that one that fails leaves nothing behind.
func groups(ctx context.Context, c *nccl.Comm) error {
	x, y := []int64{int64(c.Rank())}, make([]int64, c.Size())
	both := func(c *nccl.Comm) error {
		nccl.AllGather(c, nccl.Of(y), nccl.Of(x))
		nccl.AllReduce(c, nccl.Of(x), nccl.Of(x), nccl.Max)
		return nil
	}
	if err := c.Group(both); err != nil {
		return err
	}
	if err := c.Wait(ctx); err != nil {
		return err
	}
	if x[0] != int64(c.Size()-1) {
		return fmt.Errorf("the largest rank is %d, want %d", x[0], c.Size()-1)
	}
	for rank, v := range y {
		if v != int64(rank) {
			return fmt.Errorf("part %d is %d", rank, v)
		}
	}
	stop := errors.New("stop")
	err := c.Group(func(c *nccl.Comm) error {
		nccl.AllReduce(c, nccl.Of(x), nccl.Of(x), nccl.Sum)
		return stop
	})
	if !errors.Is(err, stop) {
		return fmt.Errorf("a group that fails: %v", err)
	}
	if err := c.Wait(ctx); err != nil {
		return err
	}
	if x[0] != int64(c.Size()-1) {
		return errors.New("a group that failed has run")
	}
	return nil
}

// streams checks that calls and functions run in the order of their stream, and
// of streams that wait for each other.
func streams(ctx context.Context, c *nccl.Comm) error {
	side, err := c.NewStream()
	if err != nil {
		return err
	}
	defer side.Close()
	const rounds = 50
	x := make([]float32, 3000)
	var ran atomic.Int64
	for i := range rounds {
		c.Stream().Call(func() {
			for j := range x {
				x[j] = float32(i + j)
			}
		})
		side.After(c.Stream())
		nccl.AllReduce(c.On(side), nccl.Of(x), nccl.Of(x), nccl.Avg)
		c.Stream().After(side)
		c.Stream().Call(func() {
			if x[1] == float32(i+1) && x[2999] == float32(i+2999) {
				ran.Add(1)
			}
		})
	}
	if err := c.Wait(ctx); err != nil {
		return err
	}
	if ran.Load() != rounds {
		return fmt.Errorf("%d of %d rounds were right", ran.Load(), rounds)
	}
	return nil
}

// barrier checks that no rank is through before all have come.
func barrier(ctx context.Context, c *nccl.Comm) error {
	x := make([]int32, 1)
	for range 20 {
		nccl.AllReduce(c, nccl.Of(x), nccl.Of([]int32{1}), nccl.Sum)
		if err := c.Barrier(ctx); err != nil {
			return err
		}
		if x[0] != int32(c.Size()) {
			return fmt.Errorf("%d ranks were there", x[0])
		}
	}
	return nil
}

// finalize checks the good end of a communicator.
func finalize(ctx context.Context, c *nccl.Comm) error {
	x := []int32{1}
	nccl.AllReduce(c, nccl.Of(x), nccl.Of(x), nccl.Sum)
	if err := c.Finalize(ctx); err != nil {
		return err
	}
	if x[0] != int32(c.Size()) {
		return fmt.Errorf("a finalized communicator had not ended a call: %d", x[0])
	}
	<-c.Done()
	for name, err := range map[string]error{
		"Err":       c.Err(),
		"AllReduce": nccl.AllReduce(c, nccl.Of(x), nccl.Of(x), nccl.Sum),
		"Wait":      c.Wait(ctx),
		"Finalize":  c.Finalize(ctx),
	} {
		if !errors.Is(err, nccl.ErrClosed) {
			return fmt.Errorf("%s after Finalize: %v", name, err)
		}
	}
	return errors.Join(c.Close(), c.Close())
}

// abort checks that Abort on one rank ends a call that the others wait in.
func abort(ctx context.Context, c *nccl.Comm) error {
	last := c.Size() - 1
	if c.Rank() == last {
		c.Abort(errors.New("enough of this"))
	} else {
		x := make([]float32, 1<<20)
		nccl.AllReduce(c, nccl.Of(x), nccl.Of(x), nccl.Sum)
	}
	return aborted(c.Wait(ctx), last, "enough of this")
}

// cancel checks that the end of one rank's context ends the communicator on all.
func cancel(ctx context.Context, c *nccl.Comm) error {
	cause := errors.New("no time left")
	if c.Rank() == 0 {
		var end context.CancelCauseFunc
		ctx, end = context.WithCancelCause(ctx)
		end(cause)
	}
	x := make([]int8, 100)
	if c.Rank() > 0 || c.Size() == 1 {
		c.Stream().Call(func() { <-c.Done() }) // keeps this rank out of the call till the end
	}
	nccl.AllReduce(c, nccl.Of(x), nccl.Of(x), nccl.Sum)
	err := c.Wait(ctx)
	if c.Rank() == 0 && !errors.Is(err, cause) {
		return fmt.Errorf("the cause is missing: %v", err)
	}
	return aborted(err, 0, "no time left")
}

// aborted reports whether err is an abort by a rank for a reason.
func aborted(err error, rank int, reason string) error {
	if !errors.Is(err, nccl.ErrAborted) || !strings.Contains(err.Error(), reason) || !strings.Contains(err.Error(), fmt.Sprintf("by rank %d", rank)) {
		return fmt.Errorf("after an abort by rank %d, %q: %v", rank, reason, err)
	}
	return nil
}
