package nccl

import (
	"unsafe"

	"github.com/gorun/gorun/nccl/internal/core"
)

// Every rank makes the same call; it is enqueued on c's stream and the result
// is there after a Wait. The call itself does not wait for other ranks. A
// refused call returns an [*Error], enqueues nothing, and makes the
// communicator refuse what follows until a Wait has reported it. In place means
// that dst is src, or that the shorter is this rank's part of the longer; any
// other overlap is refused.
//
// What one rank cannot see is not refused: that ranks differ in the operation,
// the type, the count, op or root. Config.Check finds it.

// AllReduce reduces all ranks' src, element by element, into every dst. All
// have the same length and type on every rank; [Config.Check] finds those that
// differ, which else give wrong elements, hang, or end as a loss.
func AllReduce[T Element](c *Comm, dst, src Buffer[T], op Op) error {
	const name = "AllReduce"
	s, err := c.admit(name)
	if err != nil {
		return err
	}
	r, ok := reduction(op)
	switch {
	case !ok:
		return s.refuse(name, noReduction(op))
	case len(dst.x) != len(src.x):
		return s.refuse(name, invalid("dst has %d elements and src %d, want equal lengths", len(dst.x), len(src.x)))
	case !apart(dst.x, src.x, 0):
		return s.refuse(name, invalid("dst and src overlap but are not the same"))
	}
	return submit(c, name, core.Call{Kind: core.AllReduce, Op: r, Count: len(src.x)}, dst, src)
}

// Broadcast copies root's src to every dst. All have the same length; the other
// ranks' src may be the zero Buffer. Length, type and root are the same on
// every rank; [Config.Check] finds those that differ.
func Broadcast[T Element](c *Comm, dst, src Buffer[T], root int) error {
	const name = "Broadcast"
	s, err := c.admit(name)
	if err != nil {
		return err
	}
	switch {
	case root < 0 || root >= s.size:
		return s.refuse(name, invalid("root %d is not a rank, want 0 … %d", root, s.size-1))
	case len(dst.x) != len(src.x) && (s.rank == root || len(src.x) != 0):
		return s.refuse(name, invalid("dst has %d elements and src %d, want equal lengths", len(dst.x), len(src.x)))
	case !apart(dst.x, src.x, 0):
		return s.refuse(name, invalid("dst and src overlap but are not the same"))
	}
	return submit(c, name, core.Call{Kind: core.Broadcast, Root: root, Count: len(dst.x)}, dst, src)
}

// AllGather puts rank p's src into part p of every dst, which has Size times
// the length of src. Length and type are the same on every rank;
// [Config.Check] finds those that differ.
func AllGather[T Element](c *Comm, dst, src Buffer[T]) error {
	const name = "AllGather"
	s, err := c.admit(name)
	if err != nil {
		return err
	}
	switch {
	case len(dst.x) != s.size*len(src.x):
		return s.refuse(name, invalid("dst has %d elements, want %d times the %d of src", len(dst.x), s.size, len(src.x)))
	case !apart(dst.x, src.x, s.rank*len(src.x)):
		return s.refuse(name, invalid("src overlaps dst but is not its part %d", s.rank))
	}
	return submit(c, name, core.Call{Kind: core.AllGather, Count: len(src.x)}, dst, src)
}

// ReduceScatter reduces all ranks' src, element by element, and leaves part p
// of the result in rank p's dst. Src has Size times the length of dst. Length,
// type and op are the same on every rank; [Config.Check] finds those that
// differ.
func ReduceScatter[T Element](c *Comm, dst, src Buffer[T], op Op) error {
	const name = "ReduceScatter"
	s, err := c.admit(name)
	if err != nil {
		return err
	}
	r, ok := reduction(op)
	switch {
	case !ok:
		return s.refuse(name, noReduction(op))
	case len(src.x) != s.size*len(dst.x):
		return s.refuse(name, invalid("src has %d elements, want %d times the %d of dst", len(src.x), s.size, len(dst.x)))
	case !apart(src.x, dst.x, s.rank*len(dst.x)):
		return s.refuse(name, invalid("dst overlaps src but is not its part %d", s.rank))
	}
	return submit(c, name, core.Call{Kind: core.ReduceScatter, Op: r, Count: len(dst.x)}, dst, src)
}

// submit enqueues a checked call. The buffers are the call's until it has ended.
func submit[T Element](c *Comm, name string, call core.Call, dst, src Buffer[T]) error {
	if !dst.mem.Retain() {
		return c.s.refuse(name, ErrClosed)
	}
	if !src.mem.Retain() {
		dst.mem.Release()
		return c.s.refuse(name, ErrClosed)
	}
	call.Type = core.TypeOf[T]()
	call.Dst, call.DstMem = raw(dst.x), dst.mem
	call.Src, call.SrcMem = raw(src.x), src.mem
	c.enqueue(call)
	return nil
}

// apart reports whether part shares no element with whole, or is its elements
// from offset on.
func apart[T Element](whole, part []T, offset int) bool {
	if len(whole) == 0 || len(part) == 0 {
		return true
	}
	if unsafe.SliceData(part) == unsafe.SliceData(whole[offset:]) {
		return true
	}
	w, p := uintptr(unsafe.Pointer(&whole[0])), uintptr(unsafe.Pointer(&part[0]))
	size := unsafe.Sizeof(whole[0])
	return p >= w+uintptr(len(whole))*size || w >= p+uintptr(len(part))*size
}
