package nccl

import (
	"math"
	"unsafe"

	"github.com/gorun/gorun/nccl/internal/core"
)

// Element is what can be moved and reduced. No call has a datatype argument:
// the type of the Buffer is it.
type Element interface {
	int8 | uint8 | int32 | uint32 | int64 | uint64 | float32 | float64
}

// Buffer is elements of an engine's memory or of a Go slice. It is a value, as
// a slice is: copies and slices of it share the elements. The zero Buffer has
// none.
type Buffer[T Element] struct {
	x     []T
	mem   *core.Memory // what keeps x; nil for a slice of the caller's
	whole bool         // x is all of mem
}

// Make allocates n zeros where c's engine is fastest. On the host engine that
// is Go's heap. More than the host has is refused, with [ErrInvalid]. The
// caller closes the Buffer.
func Make[T Element](c *Comm, n int) (Buffer[T], error) {
	s, err := c.usable("Make")
	if err != nil {
		return Buffer[T]{}, err
	}
	size := core.TypeOf[T]().Size()
	if n < 0 || n > math.MaxInt/size {
		return Buffer[T]{}, s.error("Make", invalid("%d elements", n))
	}
	mem, err := s.engine.Alloc(n * size)
	if err != nil {
		return Buffer[T]{}, s.error("Make", invalid("%d elements: %v", n, err))
	}
	return Buffer[T]{x: elements[T](mem.Bytes), mem: mem, whole: true}, nil
}

// MakeHost is [Make] of memory that Go reaches too, whatever the engine:
// [Buffer.Host] is never nil. The caller closes the Buffer.
func MakeHost[T Element](c *Comm, n int) (Buffer[T], error) { return Make[T](c, n) }

// Of returns the elements of x, without a copy. They need no Close, and must
// stay as they are until a Wait covers the last operation on them.
func Of[T Element](x []T) Buffer[T] { return Buffer[T]{x: x} }

// Cast returns the same bytes as elements of another type, or an error wrapping
// [ErrInvalid] if they do not fit: the length in bytes must be a multiple of
// the new element's size, and the address too.
func Cast[T, U Element](b Buffer[U]) (Buffer[T], error) {
	x := raw(b.x)
	size := core.TypeOf[T]().Size()
	if len(x)%size != 0 || uintptr(unsafe.Pointer(unsafe.SliceData(x)))%uintptr(size) != 0 {
		return Buffer[T]{}, &Error{Op: "Cast", Err: invalid("%d bytes at %p are not elements of %d bytes", len(x), unsafe.SliceData(x), size)}
	}
	return Buffer[T]{x: elements[T](x), mem: b.mem, whole: b.whole}, nil
}

// Len returns the number of elements.
func (b Buffer[T]) Len() int { return len(b.x) }

// Slice returns elements i … j-1, shared with b. It panics where a slice of
// length and capacity Len would.
func (b Buffer[T]) Slice(i, j int) Buffer[T] {
	x := b.x[:len(b.x):len(b.x)][i:j:j]
	return Buffer[T]{x: x, mem: b.mem, whole: b.whole && len(x) == len(b.x)}
}

// Host returns the elements, nil if Go cannot reach them. After Close they read as zeros.
func (b Buffer[T]) Host() []T { return b.x }

// Close frees what [Make] allocated, when nothing in flight uses it any more.
// It does not block and may be repeated. A Slice cannot be closed: the error
// wraps [ErrInvalid]. What [Of] was given stays as it is.
func (b Buffer[T]) Close() error {
	if b.mem == nil {
		return nil
	}
	if !b.whole {
		return &Error{Op: "Buffer.Close", Err: invalid("%d elements are a Slice; close the Buffer that Make returned", b.Len())}
	}
	b.mem.Close()
	return nil
}

// raw returns the bytes of x.
func raw[T Element](x []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), len(x)*core.TypeOf[T]().Size())
}

// elements returns bytes, aligned for T, as elements.
func elements[T Element](bytes []byte) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(bytes))), len(bytes)/core.TypeOf[T]().Size())
}
