package contest

import (
	"math"
	"slices"
)

// Median returns the median of the values and the narrowest pair of them that
// holds the true median with a probability of at least 90 %. It assumes
// nothing of the distribution: a value lies below the true median as often as
// above, so the number of those below is binomial. With fewer than five values
// no pair is wide enough, and it is the smallest and the largest.
func Median(values []float64) (m, low, high float64) {
	if len(values) == 0 {
		return math.NaN(), math.NaN(), math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	m = (sorted[(n-1)/2] + sorted[n/2]) / 2
	// The interval from sorted[k] to sorted[n-1-k] misses the median if at most
	// k values lie on one side of it.
	k := 0
	term := math.Pow(0.5, float64(n)) // C(n, k) / 2^n
	below := term                     // probability of at most k
	for {
		term *= float64(n-k) / float64(k+1)
		if 2*(below+term) > 0.1 || k+1 > (n-1)/2 {
			break
		}
		below += term
		k++
	}
	return m, sorted[k], sorted[n-1-k]
}
