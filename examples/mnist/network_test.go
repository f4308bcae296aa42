package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// small is a network on which every derivative can be tried out.
var small = shape{inputs: 7, hidden: 6, classes: 4}

// drawSamples returns count random samples for the small network, of which
// some inputs are zero, as those of digits are.
func drawSamples(random *rand.Rand, count int) (matrix, []uint8) {
	x := matrixOf(make([]float32, count*small.inputs), count, small.inputs)
	labels := make([]uint8, count)
	for i := range x.data {
		x.data[i] = max(0, random.Float32()*2-0.5)
	}
	for i := range labels {
		labels[i] = uint8(random.IntN(small.classes))
	}
	return x, labels
}

// TestGradientAgainstDifferences compares every element of the gradient with
// what the loss does when that parameter is moved a little either way.
func TestGradientAgainstDifferences(t *testing.T) {
	const count, scale, move = 5, 0.2, 1e-3
	for seed := range uint64(4) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			params := make([]float32, small.parameters())
			small.initialize(params, seed)
			for i := range params {
				params[i] += 0.1 * float32(random.NormFloat64()) // biases too
			}
			net := newNetwork(small, params, count)
			x, labels := drawSamples(random, count)
			grad := make([]float32, len(params))
			net.backward(grad, x, labels, scale)

			loss := func() float64 { return net.backward(make([]float32, len(params)), x, labels, 0) }
			for i, p := range params {
				params[i] = p + move
				above := loss()
				params[i] = p - move
				below := loss()
				params[i] = p
				require.InDelta(t, scale*(above-below)/(2*move), grad[i], 2e-3, "parameter %d", i)
			}
		})
	}
}

// TestGradientAddsUp states what data parallelism rests on: the gradients of
// the parts of a batch sum up to that of the whole.
func TestGradientAddsUp(t *testing.T) {
	const count, cut = 9, 4
	random := rand.New(rand.NewPCG(1, 1))
	params := make([]float32, small.parameters())
	small.initialize(params, 1)
	net := newNetwork(small, params, count)
	x, labels := drawSamples(random, count)

	whole, parts := make([]float32, len(params)), make([]float32, len(params))
	loss := net.backward(whole, x, labels, 1.0/count)
	first := matrixOf(x.data, cut, small.inputs)
	rest := matrixOf(x.data[cut*small.inputs:], count-cut, small.inputs)
	none := matrixOf(nil, 0, small.inputs)
	sum := net.backward(parts, first, labels[:cut], 1.0/count)
	sum += net.backward(parts, none, nil, 1.0/count)
	sum += net.backward(parts, rest, labels[cut:], 1.0/count)

	require.InDelta(t, loss, sum, 1e-9)
	require.InDeltaSlice(t, whole, parts, 1e-6)
}

func TestCrossEntropyOfLargeLogits(t *testing.T) {
	logits := []float32{-1e30, 1e30, 0}
	loss := crossEntropy(logits, 1, 1)
	require.Zero(t, loss)
	require.Equal(t, []float32{0, 0, 0}, logits)

	logits = []float32{3, 3, 3, 3}
	require.InDelta(t, math.Log(4), crossEntropy(logits, 2, 8), 1e-12)
	require.Equal(t, []float32{2, 2, -6, 2}, logits)
}

func TestInitializeIsOfTheSeedAlone(t *testing.T) {
	first := make([]float32, digits.parameters())
	second := slices.Repeat([]float32{float32(math.NaN())}, digits.parameters())
	digits.initialize(first, 3)
	digits.initialize(second, 3)
	require.Equal(t, first, second)
	digits.initialize(second, 4)
	require.NotEqual(t, first, second)

	parts := digits.split(first)
	require.Equal(t, make([]float32, digits.hidden), parts.b1)
	require.Equal(t, make([]float32, digits.classes), parts.b2)
	variance := 0.0
	for _, w := range parts.w1.data {
		variance += float64(w) * float64(w) / float64(len(parts.w1.data))
	}
	require.InEpsilon(t, 2.0/pixels, variance, 0.05)
}

func TestOptimizer(t *testing.T) {
	params := []float32{1, -1}
	o := optimizer{rate: 0.5, steps: 4, velocity: make([]float32, 2)}
	o.step(0, params, []float32{1, 0})
	require.Equal(t, []float32{0.5, -1}, params)
	o.step(2, params, []float32{0, 4}) // half of the steps are over, so half of the rate
	require.InDeltaSlice(t, []float32{0.5 - 0.5*momentum, -2}, params, 1e-6)
}
