package main

import (
	"math"
	"math/rand/v2"
)

// A shape is the widths of a network with one hidden layer: how many numbers
// go in, how many hidden units there are, and how many classes come out.
type shape struct{ inputs, hidden, classes int }

// parameters returns the length of the vector that holds all weights and biases.
func (s shape) parameters() int {
	return (s.inputs+1)*s.hidden + (s.hidden+1)*s.classes
}

// layers are the parts of a parameter vector, or of a gradient, which has the
// same parts. The whole lies in one vector so that one all-reduce carries it.
type layers struct {
	w1 matrix    // inputs × hidden
	b1 []float32 // hidden
	w2 matrix    // hidden × classes
	b2 []float32 // classes
}

// split returns the parts of vector, which they share.
func (s shape) split(vector []float32) layers {
	w1, rest := vector[:s.inputs*s.hidden], vector[s.inputs*s.hidden:]
	b1, rest := rest[:s.hidden], rest[s.hidden:]
	w2, b2 := rest[:s.hidden*s.classes], rest[s.hidden*s.classes:]
	return layers{
		w1: matrixOf(w1, s.inputs, s.hidden), b1: b1,
		w2: matrixOf(w2, s.hidden, s.classes), b2: b2[:s.classes],
	}
}

// initialize fills vector with the weights that training starts from: normal
// with variance 2/n before a ReLU and 1/n elsewhere, n being the units that
// feed a unit, so that signals neither grow nor fade on their way (He et al.,
// 2015). Biases are zero. The seed determines the result.
func (s shape) initialize(vector []float32, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 0))
	clear(vector)
	parts := s.split(vector)
	fill := func(weights []float32, variance float64) {
		for i := range weights {
			weights[i] = float32(random.NormFloat64() * math.Sqrt(variance))
		}
	}
	fill(parts.w1.data, 2/float64(s.inputs))
	fill(parts.w2.data, 1/float64(s.hidden))
}

// A network computes with a parameter vector, which belongs to the caller and
// may change between calls. It holds the room for one batch's activations, so
// computing allocates nothing; one goroutine at a time may use it.
type network struct {
	shape
	layers

	hidden, hiddenGrad []float32 // capacity × hidden
	logits             []float32 // capacity × classes; its gradient in turn
	w2T                []float32 // classes × hidden
}

// newNetwork returns the network of shape s on params, for batches of up to
// capacity samples.
func newNetwork(s shape, params []float32, capacity int) *network {
	return &network{
		shape:      s,
		layers:     s.split(params),
		hidden:     make([]float32, capacity*s.hidden),
		hiddenGrad: make([]float32, capacity*s.hidden),
		logits:     make([]float32, capacity*s.classes),
		w2T:        make([]float32, s.classes*s.hidden),
	}
}

// forward returns the logits of the samples that are the rows of x, and the
// hidden layer's activations. The next call overwrites both.
func (n *network) forward(x matrix) (logits, hidden matrix) {
	hidden = matrixOf(n.hidden, x.rows, n.shape.hidden)
	for i := range hidden.rows {
		copy(hidden.row(i), n.b1)
	}
	addProduct(hidden, x, n.w1)
	for i, h := range hidden.data {
		hidden.data[i] = max(h, 0)
	}

	logits = matrixOf(n.logits, x.rows, n.classes)
	for i := range logits.rows {
		copy(logits.row(i), n.b2)
	}
	addProduct(logits, hidden, n.w2)
	return logits, hidden
}

// backward adds to grad, a vector as long as the parameters, the gradient of
// the samples' summed cross-entropy, times scale, and returns that sum, not
// scaled. The rows of x are the samples, labels their classes.
func (n *network) backward(grad []float32, x matrix, labels []uint8, scale float32) float64 {
	g := n.split(grad)
	logits, hidden := n.forward(x)
	loss := 0.0
	for i, label := range labels {
		loss += crossEntropy(logits.row(i), int(label), scale)
	}
	logitsGrad := logits // crossEntropy has replaced them

	addProduct(g.w2, hidden.transposed(), logitsGrad)
	addColumns(g.b2, logitsGrad)

	// The hidden layer's gradient is logitsGrad·w2ᵀ where ReLU let through.
	w2T := matrixOf(n.w2T, n.classes, n.shape.hidden)
	n.w2.transposed().copyTo(w2T)
	hiddenGrad := matrixOf(n.hiddenGrad, x.rows, n.shape.hidden)
	clear(hiddenGrad.data)
	addProduct(hiddenGrad, logitsGrad, w2T)
	for i, h := range hidden.data {
		if h == 0 {
			hiddenGrad.data[i] = 0
		}
	}

	addProduct(g.w1, x.transposed(), hiddenGrad)
	addColumns(g.b1, hiddenGrad)
	return loss
}

// correct returns how many of the samples in the rows of x are classed as
// labels says.
func (n *network) correct(x matrix, labels []uint8) int {
	logits, _ := n.forward(x)
	count := 0
	for i, label := range labels {
		best := 0
		for class, logit := range logits.row(i) {
			if logit > logits.row(i)[best] {
				best = class
			}
		}
		if best == int(label) {
			count++
		}
	}
	return count
}

// crossEntropy returns -log of the probability that softmax gives to label,
// and replaces the logits with the gradient of that, times scale.
func crossEntropy(logits []float32, label int, scale float32) float64 {
	// The largest logit is taken off all of them so that exp cannot overflow.
	largest := logits[0]
	for _, logit := range logits {
		largest = max(largest, logit)
	}
	sum := 0.0
	for _, logit := range logits {
		sum += math.Exp(float64(logit - largest))
	}
	loss := math.Log(sum) - float64(logits[label]-largest)
	for class, logit := range logits {
		logits[class] = scale * float32(math.Exp(float64(logit-largest))/sum)
	}
	logits[label] -= scale
	return loss
}

// addColumns adds the sum of each column of m to sums.
func addColumns(sums []float32, m matrix) {
	for i := range m.rows {
		addRow(sums, 1, m.row(i))
	}
}
