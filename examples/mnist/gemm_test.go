package main

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// drawMatrix draws a matrix in which some of the elements are zero.
func drawMatrix(t *rapid.T, rows, cols int, name string) matrix {
	element := rapid.OneOf(rapid.Just(float32(0)), rapid.Float32Range(-8, 8))
	return matrixOf(rapid.SliceOfN(element, rows*cols, rows*cols).Draw(t, name), rows, cols)
}

func (m matrix) at(i, j int) float32 { return m.data[i*m.down+j*m.right] }

func TestProductAgainstDefinition(t *testing.T) {
	size := rapid.IntRange(0, 2*unroll+1)
	rapid.Check(t, func(t *rapid.T) {
		m, n, k := size.Draw(t, "m"), size.Draw(t, "n"), size.Draw(t, "k")
		a := drawMatrix(t, m, k, "a")
		if rapid.Bool().Draw(t, "transposed") {
			a = drawMatrix(t, k, m, "aᵀ").transposed()
		}
		b, c := drawMatrix(t, k, n, "b"), drawMatrix(t, m, n, "c")

		want := make([]float64, m*n)
		for i := range m {
			for j := range n {
				sum := float64(c.at(i, j))
				for l := range k {
					sum += float64(a.at(i, l)) * float64(b.at(l, j))
				}
				want[i*n+j] = sum
			}
		}
		addProduct(c, a, b)
		for i, w := range want {
			// Sums of at most ten products of at most 64: an ulp is below 2⁻¹⁴.
			if math.Abs(float64(c.data[i])-w) > 1e-3 {
				t.Fatalf("element %d is %v, want %v", i, c.data[i], w)
			}
		}
	})
}

func TestTransposedCopy(t *testing.T) {
	m := matrixOf([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
	dst := matrixOf(make([]float32, 6), 3, 2)
	m.transposed().copyTo(dst)
	require.Equal(t, []float32{1, 4, 2, 5, 3, 6}, dst.data)
}

func BenchmarkProduct(b *testing.B) {
	const rows, zeros = 256, 5 // one pixel in five is not black
	x := matrixOf(make([]float32, rows*pixels), rows, pixels)
	for i := 0; i < len(x.data); i += zeros {
		x.data[i] = 1
	}
	w := matrixOf(make([]float32, pixels*digits.hidden), pixels, digits.hidden)
	c := matrixOf(make([]float32, rows*digits.hidden), rows, digits.hidden)
	for b.Loop() {
		addProduct(c, x, w)
	}
}
