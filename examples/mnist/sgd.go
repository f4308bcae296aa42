package main

// momentum is how much of its velocity a parameter keeps from step to step.
const momentum = 0.9

// An optimizer is stochastic gradient descent with momentum. Its learning rate
// falls in a straight line from rate before the first step to zero after the
// last one: big steps first, settling at the end.
type optimizer struct {
	rate     float32
	steps    int // in the whole training
	velocity []float32
}

// step moves params down grad; n counts the steps from 0.
//
// Products are rounded by an explicit conversion, which keeps compilers from
// fusing them with the addition that follows: all ranks get the same bits from
// the same gradient, even in a job whose hosts differ in architecture.
func (o *optimizer) step(n int, params, grad []float32) {
	rate := o.rate * float32(o.steps-n) / float32(o.steps)
	velocity := o.velocity[:len(params)]
	grad = grad[:len(params)]
	for i := range params {
		v := float32(momentum*velocity[i]) - float32(rate*grad[i])
		velocity[i] = v
		params[i] += v
	}
}
