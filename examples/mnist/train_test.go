package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/gorun/gorun/nccl"
)

// runWorld runs fn as each of size ranks inside this process and returns the
// first error. A rank that fails aborts the others, as in the program.
func runWorld(t *testing.T, size int, fn func(ctx context.Context, comm *nccl.Comm) error) error {
	t.Helper()
	comms, err := nccl.InitAll(t.Context(), size, &nccl.Config{Deterministic: true})
	require.NoError(t, err)
	var ranks errgroup.Group // without a context, so that only Abort ends the others
	for _, comm := range comms {
		ranks.Go(func() error {
			err := fn(t.Context(), comm)
			if err != nil {
				comm.Abort(err)
			}
			return err
		})
	}
	err = ranks.Wait()
	if closeErr := comms.Close(); err == nil {
		require.NoError(t, closeErr)
	}
	return err
}

// subset returns the first of the real samples: few, to train on in a moment.
func subset(t *testing.T) *dataset {
	t.Helper()
	data, err := readDataset(subsetDir(t))
	require.NoError(t, err)
	return data
}

// trained is how a training of the subset went.
type trained struct {
	epochs []epoch
	*state
}

// trainWorld carries from on, in a world of size ranks, and returns what rank
// 0 saw. From may be nil, for a new network.
func trainWorld(t *testing.T, size int, conf settings, data *dataset, from *state) trained {
	t.Helper()
	var result trained
	err := runWorld(t, size, func(ctx context.Context, comm *nccl.Comm) error {
		own, err := replicate(ctx, comm, func() (*dataset, error) { return data, nil })
		if err != nil {
			return err
		}
		st := newState(digits)
		if comm.Rank() == 0 {
			if from != nil {
				st.epochs = from.epochs
				copy(st.params, from.params)
				copy(st.velocity, from.velocity)
			} else {
				digits.initialize(st.params, conf.seed)
			}
		}
		if err := replicateState(ctx, comm, st); err != nil {
			return err
		}
		var epochs []epoch
		if err := newTrainer(comm, conf, digits, own, st).run(ctx, func(e epoch) error {
			epochs = append(epochs, e)
			return verifyReplicas(ctx, comm, digestOf(st.params))
		}); err != nil {
			return err
		}
		if comm.Rank() == 0 {
			result = trained{epochs, st}
		}
		return nil
	})
	require.NoError(t, err)
	return result
}

func TestTrainingImproves(t *testing.T) {
	data := subset(t)
	conf := settings{epochs: 3, batch: 30, rate: 0.05, seed: 1}
	for _, size := range []int{1, 2, 4} {
		t.Run(fmt.Sprintf("%d ranks", size), func(t *testing.T) {
			result := trainWorld(t, size, conf, data, nil)
			require.Len(t, result.epochs, conf.epochs)
			first, last := result.epochs[0], result.epochs[conf.epochs-1]
			require.Less(t, first.loss, math.Log(classes)) // that of guessing
			require.Less(t, last.loss, first.loss/2)
			require.Greater(t, last.accuracy, 0.75)
		})
	}
}

func TestWeightsAreReproducible(t *testing.T) {
	data := subset(t)
	conf := settings{epochs: 1, batch: 100, rate: 0.1, seed: 5}
	first := trainWorld(t, 4, conf, data, nil)
	second := trainWorld(t, 4, conf, data, nil)
	require.Equal(t, digestOf(first.params), digestOf(second.params))

	conf.seed++
	other := trainWorld(t, 4, conf, data, nil)
	require.NotEqual(t, digestOf(first.params), digestOf(other.params))
}

// TestWorldsTrainAlike takes one step, so that the order of additions, which
// the number of ranks does change, has not yet had time to show.
func TestWorldsTrainAlike(t *testing.T) {
	data := subset(t)
	conf := settings{epochs: 1, batch: data.train.count(), rate: 0.1, seed: 1}
	alone := trainWorld(t, 1, conf, data, nil)
	for _, size := range []int{2, 3, 8} {
		t.Run(fmt.Sprintf("%d ranks", size), func(t *testing.T) {
			together := trainWorld(t, size, conf, data, nil)
			require.InDelta(t, alone.epochs[0].loss, together.epochs[0].loss, 1e-5)
			require.InDelta(t, alone.epochs[0].accuracy, together.epochs[0].accuracy, 0.01)
			for i, p := range alone.params {
				if math.Abs(float64(p-together.params[i])) > 1e-5 {
					require.InDelta(t, p, together.params[i], 1e-5, "parameter %d", i)
				}
			}
		})
	}
}

// TestRanksWithoutShare trains with batches of 3 samples, or 2 at the end of
// an epoch, on 4 ranks.
func TestRanksWithoutShare(t *testing.T) {
	data := subset(t)
	data.train = samples{images: data.train.images[:20*pixels], labels: data.train.labels[:20]}
	data.test = samples{images: data.test.images[:2*pixels], labels: data.test.labels[:2]}
	result := trainWorld(t, 4, settings{epochs: 2, batch: 3, rate: 0.01, seed: 1}, data, nil)
	require.Less(t, result.epochs[1].loss, result.epochs[0].loss)
}

func TestResumedTrainingEndsWithTheSameWeights(t *testing.T) {
	data := subset(t)
	conf := settings{epochs: 3, batch: 100, rate: 0.1, seed: 7}
	var middle *state
	err := runWorld(t, 2, func(ctx context.Context, comm *nccl.Comm) error {
		st := newState(digits)
		digits.initialize(st.params, conf.seed)
		return newTrainer(comm, conf, digits, data, st).run(ctx, func(e epoch) error {
			if e.number == 1 && comm.Rank() == 0 {
				var err error
				middle, err = decodeCheckpoint(encodeCheckpoint(digits, st), digits)
				return err
			}
			return nil
		})
	})
	require.NoError(t, err)
	require.Equal(t, 1, middle.epochs)

	straight := trainWorld(t, 2, conf, data, nil)
	resumed := trainWorld(t, 2, conf, data, middle)
	require.Len(t, resumed.epochs, 2)
	require.Equal(t, digestOf(straight.params), digestOf(resumed.params))
	require.Equal(t, digestOf(straight.velocity), digestOf(resumed.velocity))
}

func TestDivergenceIsAnError(t *testing.T) {
	data := subset(t)
	err := runWorld(t, 2, func(ctx context.Context, comm *nccl.Comm) error {
		st := newState(digits)
		digits.initialize(st.params, 1)
		conf := settings{epochs: 9, batch: 100, rate: 1e30, seed: 1}
		return newTrainer(comm, conf, digits, data, st).run(ctx, func(epoch) error { return nil })
	})
	require.ErrorContains(t, err, "training diverged")
}

func TestDifferingReplicasAreFound(t *testing.T) {
	const size = 3
	for odd := range size {
		t.Run(fmt.Sprintf("rank %d", odd), func(t *testing.T) {
			found := make([]error, size)
			err := runWorld(t, size, func(ctx context.Context, comm *nccl.Comm) error {
				params := slices.Repeat([]float32{1}, 10)
				if comm.Rank() == odd {
					params[9] = math.Nextafter32(1, 2)
				}
				found[comm.Rank()] = verifyReplicas(ctx, comm, digestOf(params))
				return nil
			})
			require.NoError(t, err)
			for rank, err := range found {
				require.ErrorContains(t, err, fmt.Sprintf("the weights of rank %d of %d", rank, size))
			}
		})
	}
}

func TestRankZeroWithoutDataEndsAll(t *testing.T) {
	reasons := make([]error, 3)
	err := runWorld(t, len(reasons), func(ctx context.Context, comm *nccl.Comm) error {
		_, err := replicate(ctx, comm, func() (*dataset, error) { return readDataset(t.TempDir()) })
		reasons[comm.Rank()] = err
		return err
	})
	require.Error(t, err)
	for _, reason := range reasons {
		require.ErrorContains(t, reason, trainImages) // on the other ranks too
	}
}
