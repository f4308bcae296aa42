package reduce_test

import (
	"fmt"
	"math"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gorun/gorun/nccl/internal/core"
	"github.com/gorun/gorun/nccl/internal/host/reduce"
)

func bytesOf[T core.Element](x []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), len(x)*core.TypeOf[T]().Size())
}

// oracle is what op means, one element at a time.
func oracle[T core.Element](op core.Op, a, b T) T {
	switch op {
	case core.Prod:
		return a * b
	case core.Max:
		if a != a || b > a {
			return b
		}
		return a
	case core.Min:
		if a != a || b < a {
			return b
		}
		return a
	}
	return a + b
}

// check compares the kernels of one type with the oracle, at all lengths around
// the unrolled turn, apart and in place.
func check[T core.Element](t *testing.T, gen *rapid.Generator[T]) {
	typ := core.TypeOf[T]()
	for _, op := range core.Ops {
		t.Run(fmt.Sprint(typ, " ", op), func(t *testing.T) {
			rapid.Check(t, func(r *rapid.T) {
				n := rapid.IntRange(0, 35).Draw(r, "elements")
				a := rapid.SliceOfN(gen, n, n).Draw(r, "a")
				b := rapid.SliceOfN(gen, n, n).Draw(r, "b")
				want := make([]T, n)
				for i := range want {
					want[i] = oracle(op, a[i], b[i])
				}
				dst := make([]T, n+1)
				dst[n] = 99
				kernel := reduce.For(op, typ)
				kernel(bytesOf(dst[:n]), bytesOf(a), bytesOf(b))
				require.Equal(r, bytesOf(want), bytesOf(dst[:n]))
				require.Equal(r, T(99), dst[n], "the element behind")
				kernel(bytesOf(a), bytesOf(a), bytesOf(b))
				require.Equal(r, bytesOf(want), bytesOf(a))
			})
		})
	}
}

func TestKernels(t *testing.T) {
	check(t, rapid.Int8())
	check(t, rapid.Uint8())
	check(t, rapid.Int32())
	check(t, rapid.Uint32())
	check(t, rapid.Int64())
	check(t, rapid.Uint64())
	check(t, rapid.Float32())
	check(t, rapid.Float64())
}

func TestNumbersBeatNaN(t *testing.T) {
	nan := math.NaN()
	a, b := []float64{nan, 1, nan}, []float64{2, nan, nan}
	for op, want := range map[core.Op][]float64{core.Max: {2, 1, nan}, core.Min: {2, 1, nan}} {
		got := make([]float64, 3)
		reduce.For(op, core.Float64)(bytesOf(got), bytesOf(a), bytesOf(b))
		require.Equal(t, want[:2], got[:2], "%v", op)
		require.True(t, math.IsNaN(got[2]), "%v", op)
	}
}

func TestDivide(t *testing.T) {
	for _, tt := range []struct {
		name string
		typ  core.Type
		n    int
		x    []byte
		want []byte
	}{
		{"int32 toward zero", core.Int32, 2, bytesOf([]int32{-3, 3, 7}), bytesOf([]int32{-1, 1, 3})},
		{"int64", core.Int64, 3, bytesOf([]int64{math.MinInt64, 9}), bytesOf([]int64{math.MinInt64 / 3, 3})},
		{"uint64", core.Uint64, 2, bytesOf([]uint64{math.MaxUint64}), bytesOf([]uint64{math.MaxUint64 / 2})},
		{"more ranks than int8 has numbers", core.Int8, 200, bytesOf([]int8{-128, 127}), bytesOf([]int8{0, 0})},
		{"float32", core.Float32, 4, bytesOf([]float32{1, -6}), bytesOf([]float32{0.25, -1.5})},
	} {
		t.Run(tt.name, func(t *testing.T) {
			reduce.Divide(tt.typ, tt.x, tt.n)
			require.Equal(t, tt.want, tt.x)
		})
	}
}

func BenchmarkKernel(b *testing.B) {
	for _, typ := range []core.Type{core.Float32, core.Float64, core.Int32} {
		for _, op := range []core.Op{core.Sum, core.Max} {
			b.Run(fmt.Sprint(typ, "/", op), func(b *testing.B) {
				const size = 64 << 10
				dst, x := make([]byte, size), make([]byte, size)
				kernel := reduce.For(op, typ)
				b.SetBytes(3 * size)
				for b.Loop() {
					kernel(dst, dst, x)
				}
			})
		}
	}
}
