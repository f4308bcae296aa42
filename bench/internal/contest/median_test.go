package contest

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMedian(t *testing.T) {
	tests := []struct {
		name         string
		n            int // values 1 … n
		m, low, high float64
	}{
		// Places from tables of the sign test.
		{"one", 1, 1, 1, 1},
		{"five", 5, 3, 1, 5},
		{"eight", 8, 4.5, 2, 7},
		{"fifteen", 15, 8, 4, 12},
		{"twenty", 20, 10.5, 6, 15},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var values []float64
			for _, i := range rand.Perm(test.n) {
				values = append(values, float64(i+1))
			}
			m, low, high := Median(values)
			require.Equal(t, []float64{test.m, test.low, test.high}, []float64{m, low, high})
		})
	}
	m, _, _ := Median(nil)
	require.True(t, math.IsNaN(m))
}
