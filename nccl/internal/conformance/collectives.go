package conformance

import (
	"context"
	"fmt"

	"github.com/gorun/gorun/nccl"
)

// counts are the elements of a call, or of a part of one: none, one, tails of a
// kernel's turn and of a cache line, few and many enough for an engine to
// choose differently.
var counts = []int{0, 1, 17, 1001, 2500}

// collectives checks every collective with every type, operation and length,
// apart and in place, from every root.
func collectives(ctx context.Context, c *nccl.Comm) error {
	for _, check := range []func(context.Context, *nccl.Comm) error{
		ofType[int8], ofType[uint8], ofType[int32], ofType[uint32], ofType[int64], ofType[uint64], ofType[float32], ofType[float64],
		inChunks[float32],
	} {
		if err := check(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// ofType checks elements of one type at every count.
func ofType[T nccl.Element](ctx context.Context, c *nccl.Comm) error {
	for _, count := range counts {
		if err := ofCount[T](ctx, c, count, []nccl.BuiltinOp{nccl.Sum, nccl.Prod, nccl.Max, nccl.Min, nccl.Avg}); err != nil {
			return err
		}
	}
	return nil
}

// inChunks checks lengths that no engine moves in one piece.
func inChunks[T nccl.Element](ctx context.Context, c *nccl.Comm) error {
	return ofCount[T](ctx, c, 350_003, []nccl.BuiltinOp{nccl.Sum})
}

func ofCount[T nccl.Element](ctx context.Context, c *nccl.Comm, count int, ops []nccl.BuiltinOp) error {
	for _, inPlace := range []bool{false, true} {
		r := run[T]{ctx: ctx, comm: c, count: count, inPlace: inPlace}
		for _, op := range ops {
			if err := r.allReduce(op); err != nil {
				return err
			}
			if err := r.reduceScatter(op); err != nil {
				return err
			}
		}
		if err := r.allGather(); err != nil {
			return err
		}
		for root := range c.Size() {
			if err := r.broadcast(root); err != nil {
				return err
			}
		}
	}
	return nil
}

// run is one length, apart or in place.
type run[T nccl.Element] struct {
	ctx     context.Context
	comm    *nccl.Comm
	count   int
	inPlace bool
}

// given is what a rank has at index i before a call: small enough that floats
// are exact in any order.
func given[T nccl.Element](rank, i int) T { return T((rank+i)%3 + 1) }

// reduced is the reduction of what all ranks have at index i.
func reduced[T nccl.Element](op nccl.BuiltinOp, size, i int) T {
	x := given[T](0, i)
	for rank := 1; rank < size; rank++ {
		y := given[T](rank, i)
		switch op {
		case nccl.Prod:
			x *= y
		case nccl.Max:
			x = max(x, y)
		case nccl.Min:
			x = min(x, y)
		default:
			x += y
		}
	}
	if op == nccl.Avg {
		x /= T(size)
	}
	return x
}

func (r *run[T]) allReduce(op nccl.BuiltinOp) error {
	rank, size := r.comm.Rank(), r.comm.Size()
	src := guarded[T](r.count, func(i int) T { return given[T](rank, i) })
	dst := src
	if !r.inPlace {
		dst = guarded[T](r.count, nil)
	}
	err := nccl.AllReduce(r.comm, nccl.Of(dst.inner()), nccl.Of(src.inner()), op)
	return r.judge("AllReduce "+op.String(), err, dst, src, func(i int) T { return reduced[T](op, size, i) })
}

func (r *run[T]) reduceScatter(op nccl.BuiltinOp) error {
	rank, size, n := r.comm.Rank(), r.comm.Size(), r.count
	src := guarded[T](size*n, func(i int) T { return given[T](rank, i) })
	want := func(i int) T { return reduced[T](op, size, rank*n+i) }
	if !r.inPlace {
		dst := guarded[T](n, nil)
		err := nccl.ReduceScatter(r.comm, nccl.Of(dst.inner()), nccl.Of(src.inner()), op)
		return r.judge("ReduceScatter "+op.String(), err, dst, src, want)
	}
	whole := nccl.Of(src.inner())
	err := nccl.ReduceScatter(r.comm, whole.Slice(rank*n, rank*n+n), whole, op)
	return r.judge("ReduceScatter "+op.String(), err, src, src, func(i int) T { // the other parts stay
		if i/max(n, 1) == rank {
			return want(i - rank*n)
		}
		return given[T](rank, i)
	})
}

func (r *run[T]) allGather() error {
	rank, size, n := r.comm.Rank(), r.comm.Size(), r.count
	dst := guarded[T](size*n, nil)
	src := guarded[T](n, func(i int) T { return given[T](rank, i) })
	from := nccl.Of(src.inner())
	if r.inPlace {
		from = nccl.Of(dst.inner()).Slice(rank*n, rank*n+n)
		copy(from.Host(), src.inner())
		src = dst
	}
	err := nccl.AllGather(r.comm, nccl.Of(dst.inner()), from)
	return r.judge("AllGather", err, dst, src, func(i int) T { return given[T](i/n, i%n) })
}

func (r *run[T]) broadcast(root int) error {
	dst := guarded[T](r.count, nil)
	src := dst
	var from nccl.Buffer[T]
	if r.comm.Rank() == root {
		if !r.inPlace {
			src = guarded[T](r.count, nil)
		}
		for i := range src.inner() {
			src.inner()[i] = given[T](root, i)
			src.before[i] = given[T](root, i)
		}
		from = nccl.Of(src.inner())
	}
	err := nccl.Broadcast(r.comm, nccl.Of(dst.inner()), from, root)
	return r.judge(fmt.Sprint("Broadcast from ", root), err, dst, src, func(i int) T { return given[T](root, i) })
}

// judge waits, and compares dst with what is wanted and src with what it was.
func (r *run[T]) judge(name string, err error, dst, src *guard[T], want func(int) T) error {
	if err == nil {
		err = r.comm.Wait(r.ctx)
	}
	if err == nil {
		err = dst.check(want)
	}
	if err == nil && src != dst {
		err = src.check(func(i int) T { return src.before[i] })
	}
	if err != nil {
		var zero T
		return fmt.Errorf("%s of %d %T, in place %v: %w", name, r.count, zero, r.inPlace, err)
	}
	return nil
}

// guard is elements between others that must not change.
type guard[T nccl.Element] struct {
	all    []T
	before []T // the elements before the call
}

// guardSize is how many elements are on each side, and guardValue what they are.
const (
	guardSize  = 16
	guardValue = 77
)

// guarded returns n elements that fill gives, zeros for nil.
func guarded[T nccl.Element](n int, fill func(int) T) *guard[T] {
	g := &guard[T]{all: make([]T, n+2*guardSize), before: make([]T, n)}
	for i := range guardSize {
		g.all[i], g.all[len(g.all)-1-i] = guardValue, guardValue
	}
	if fill != nil {
		for i := range g.before {
			g.before[i] = fill(i)
		}
	}
	copy(g.inner(), g.before)
	return g
}

// inner returns the elements.
func (g *guard[T]) inner() []T { return g.all[guardSize : len(g.all)-guardSize] }

// check compares the elements with what is wanted, and what is around them with
// what was there.
func (g *guard[T]) check(want func(int) T) error {
	for i := range guardSize {
		if g.all[i] != guardValue || g.all[len(g.all)-1-i] != guardValue {
			return fmt.Errorf("memory %d elements outside was written", guardSize-i)
		}
	}
	for i, got := range g.inner() {
		if w := want(i); got != w {
			return fmt.Errorf("element %d is %v, want %v", i, got, w)
		}
	}
	return nil
}
