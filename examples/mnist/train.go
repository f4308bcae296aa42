package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/gorun/gorun/nccl"
)

// settings are what the trained weights depend on, besides the data and the
// number of ranks. They are equal on all ranks.
type settings struct {
	epochs int     // passes over the training samples
	batch  int     // samples a step, over all ranks
	rate   float64 // learning rate at the beginning
	seed   uint64  // of the first weights and of the order of the samples
}

// validate returns every problem at once.
func (s settings) validate() error {
	var problems []error
	if s.epochs < 1 {
		problems = append(problems, fmt.Errorf("-epochs is %d, want 1 or more", s.epochs))
	}
	if s.batch < 1 {
		problems = append(problems, fmt.Errorf("-batch is %d, want 1 or more", s.batch))
	}
	if !(s.rate > 0) || math.IsInf(s.rate, 0) {
		problems = append(problems, fmt.Errorf("-lr is %v, want a positive number", s.rate))
	}
	return errors.Join(problems...)
}

// An epoch is what one pass over the training samples came to.
type epoch struct {
	number   int           // from 1
	loss     float64       // mean cross-entropy of the training samples, when each was met
	accuracy float64       // share of the test samples that is classed right
	images   int           // trained on, over all ranks
	elapsed  time.Duration // of the training, without the test
}

// A trainer is one rank's part in training: its share of every batch, on its
// replica of the network.
type trainer struct {
	comm  *nccl.Comm
	conf  settings
	data  *dataset
	state *state

	net       *network
	grad      []float32 // of state.params
	optimizer optimizer
	room      *batch // for this rank's share of a batch
}

// newTrainer returns a trainer that carries st on, in place. Each rank needs
// equal arguments, comm aside.
func newTrainer(comm *nccl.Comm, conf settings, s shape, data *dataset, st *state) *trainer {
	conf.batch = min(conf.batch, data.train.count())
	steps := ceilDiv(data.train.count(), conf.batch) // in an epoch
	share := ceilDiv(conf.batch, comm.Size())        // of a batch, at most
	return &trainer{
		comm:      comm,
		conf:      conf,
		data:      data,
		state:     st,
		net:       newNetwork(s, st.params, share),
		grad:      make([]float32, len(st.params)),
		optimizer: optimizer{rate: float32(conf.rate), steps: conf.epochs * steps, velocity: st.velocity},
		room:      newBatch(share),
	}
}

// run trains to the last epoch. After each it calls done, whose error ends the
// training; the state is then equal on all ranks. Collective.
func (t *trainer) run(ctx context.Context, done func(epoch) error) error {
	for t.state.epochs < t.conf.epochs {
		number := t.state.epochs + 1
		e := epoch{number: number, images: t.data.train.count()}
		start := time.Now()
		own, err := t.pass(ctx, number)
		e.elapsed = time.Since(start)
		if err == nil {
			e.loss, err = t.meanLoss(ctx, own)
		}
		if err == nil {
			e.accuracy, err = t.accuracy(ctx)
		}
		if err != nil {
			return fmt.Errorf("epoch %d: %w", number, err)
		}
		t.state.epochs = number
		if err := done(e); err != nil {
			return err
		}
	}
	return nil
}

// pass trains on every sample once, in an order that the seed and the epoch
// determine, and returns the summed loss of this rank's samples.
func (t *trainer) pass(ctx context.Context, number int) (loss float64, err error) {
	order := rand.New(rand.NewPCG(t.conf.seed, uint64(number))).Perm(t.data.train.count())
	for step := (number - 1) * ceilDiv(len(order), t.conf.batch); len(order) > 0; step++ {
		batch := order[:min(t.conf.batch, len(order))]
		order = order[len(batch):]
		partial, err := t.step(ctx, step, batch)
		if err != nil {
			return 0, fmt.Errorf("step %d: %w", step, err)
		}
		loss += partial
	}
	return loss, nil
}

// step trains on one batch, of which this rank computes its share, and returns
// the summed loss of that. The last batch of an epoch may be too small for
// every rank to have a share; all must come to the all-reduce nevertheless.
func (t *trainer) step(ctx context.Context, step int, batch []int) (loss float64, err error) {
	x, labels := t.room.gather(t.data.train, share(batch, t.comm))
	clear(t.grad)
	// Shares may differ by one sample. Dividing by the whole batch before
	// summing gives the mean over samples, which the mean over ranks is not.
	loss = t.net.backward(t.grad, x, labels, 1/float32(len(batch)))

	grad := nccl.Of(t.grad)
	nccl.AllReduce(t.comm, grad, grad, nccl.Sum) // Wait reports a refused call
	if err := t.comm.Wait(ctx); err != nil {
		return 0, err
	}
	t.optimizer.step(step, t.state.params, t.grad)
	return loss, nil
}

// meanLoss returns the mean loss of all training samples, given the summed
// loss of this rank's. Collective.
func (t *trainer) meanLoss(ctx context.Context, own float64) (float64, error) {
	sum := []float64{own}
	nccl.AllReduce(t.comm, nccl.Of(sum), nccl.Of(sum), nccl.Sum)
	if err := t.comm.Wait(ctx); err != nil {
		return 0, fmt.Errorf("summing the loss up: %w", err)
	}
	mean := sum[0] / float64(t.data.train.count())
	if math.IsNaN(mean) || math.IsInf(mean, 0) {
		return 0, fmt.Errorf("the loss is %v: training diverged, a smaller -lr may help", mean)
	}
	return mean, nil
}

// accuracy returns the part of the test samples that is classed right, each
// rank having classed its share. Collective.
func (t *trainer) accuracy(ctx context.Context) (float64, error) {
	indexes := make([]int, t.data.test.count())
	for i := range indexes {
		indexes[i] = i
	}
	right := []int64{0}
	for part := range slices.Chunk(share(indexes, t.comm), t.room.capacity()) {
		right[0] += int64(t.net.correct(t.room.gather(t.data.test, part)))
	}
	nccl.AllReduce(t.comm, nccl.Of(right), nccl.Of(right), nccl.Sum)
	if err := t.comm.Wait(ctx); err != nil {
		return 0, fmt.Errorf("summing the right answers up: %w", err)
	}
	return float64(right[0]) / float64(len(indexes)), nil
}

// share returns the part of the samples that comm's rank works on. The parts of
// all ranks follow one another and differ in length by one at most.
func share(samples []int, comm *nccl.Comm) []int {
	rank, size := comm.Rank(), comm.Size()
	return samples[len(samples)*rank/size : len(samples)*(rank+1)/size]
}

// ceilDiv returns a/b, rounded up.
func ceilDiv(a, b int) int { return (a + b - 1) / b }
