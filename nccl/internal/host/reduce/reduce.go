// Package reduce has the element kernels of the host engine: dst = a ∘ b for
// every reduction and element type, on bytes in memory. Start with [For].
//
// Kernels are plain Go, eight elements to a turn without bounds checks.
// Integers wrap around. Where one of two floating-point numbers is NaN, Max and
// Min give the other, as C's fmax and fmin and NCCL do; Go's own would give
// NaN.
package reduce

import (
	"unsafe"

	"github.com/gorun/gorun/nccl/internal/core"
)

// Func sets dst = a ∘ b, element by element. The three have the same length, of
// whole elements, and are aligned for them; dst may be a or b.
type Func func(dst, a, b []byte)

// For returns the kernel of op on elements of type t. That of Avg adds up:
// [Divide] comes after the last.
func For(op core.Op, t core.Type) Func { return kernels[t][op] }

// kernels are made once: a generic function as a value is an allocation each time.
var kernels = [...][]Func{
	core.Int8:    integers[int8](),
	core.Uint8:   integers[uint8](),
	core.Int32:   integers[int32](),
	core.Uint32:  integers[uint32](),
	core.Int64:   integers[int64](),
	core.Uint64:  integers[uint64](),
	core.Float32: floats[float32](),
	core.Float64: floats[float64](),
}

// integers returns the kernels of an integer type by op.
func integers[T core.Element]() []Func {
	return []Func{core.Sum: sum[T], core.Prod: prod[T], core.Max: maxOf[T], core.Min: minOf[T], core.Avg: sum[T]}
}

// floats returns the kernels of a floating-point type by op.
func floats[T float32 | float64]() []Func {
	return []Func{core.Sum: sum[T], core.Prod: prod[T], core.Max: maxNumber[T], core.Min: minNumber[T], core.Avg: sum[T]}
}

// Divide divides the elements of x, of type t, by n > 0. Integers are truncated
// toward zero.
func Divide(t core.Type, x []byte, n int) {
	switch t {
	case core.Int8:
		divide[int8](x, n)
	case core.Uint8:
		divide[uint8](x, n)
	case core.Int32:
		divide[int32](x, n)
	case core.Uint32:
		divide[uint32](x, n)
	case core.Int64:
		divide[int64](x, n)
	case core.Uint64:
		divide[uint64](x, n)
	case core.Float32:
		divide[float32](x, n)
	default:
		divide[float64](x, n)
	}
}

// view returns x as elements.
func view[T core.Element](x []byte) []T {
	var zero T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(x))), len(x)/int(unsafe.Sizeof(zero)))
}

// divide works on integers of any width below: n that does not fit T would
// divide everything to 0.
func divide[T core.Element](bytes []byte, n int) {
	d := T(n)
	x := view[T](bytes)
	if int(d) != n {
		clear(x)
		return
	}
	for i := range x {
		x[i] /= d
	}
}
