package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/gorun/gorun/nccl"
)

// Data-parallel training keeps a replica of everything on every rank: rank 0
// reads, the others get copies, and from then on equal steps keep them equal.

// replicate returns rank 0's dataset on every rank; load is called on rank 0
// only, so no other host needs the files. Collective.
func replicate(ctx context.Context, comm *nccl.Comm, load func() (*dataset, error)) (*dataset, error) {
	var data *dataset
	var counts [2]int64
	if comm.Rank() == 0 {
		var err error
		if data, err = load(); err != nil {
			return nil, err
		}
		counts = [2]int64{int64(data.train.count()), int64(data.test.count())}
	}
	if err := broadcast(ctx, comm, counts[:]); err != nil {
		return nil, fmt.Errorf("receiving the size of the data: %w", err)
	}
	if comm.Rank() != 0 {
		data = &dataset{train: newSamples(int(counts[0])), test: newSamples(int(counts[1]))}
	}
	for _, part := range [][]byte{data.train.images, data.train.labels, data.test.images, data.test.labels} {
		if err := broadcast(ctx, comm, part); err != nil {
			return nil, fmt.Errorf("receiving the data: %w", err)
		}
	}
	return data, nil
}

// replicateState overwrites st with rank 0's on every other rank. Collective.
func replicateState(ctx context.Context, comm *nccl.Comm, st *state) error {
	epochs := []int64{int64(st.epochs)}
	if err := broadcast(ctx, comm, epochs); err != nil {
		return fmt.Errorf("receiving the epoch: %w", err)
	}
	st.epochs = int(epochs[0])
	for _, part := range [][]float32{st.params, st.velocity} {
		if err := broadcast(ctx, comm, part); err != nil {
			return fmt.Errorf("receiving the weights: %w", err)
		}
	}
	return nil
}

// verifyReplicas returns an error unless all ranks' digests are equal: then
// the least and the greatest of each word are this rank's own. Collective.
func verifyReplicas(ctx context.Context, comm *nccl.Comm, own digest) error {
	words := make([]uint64, len(own)/8)
	for i := range words {
		words[i] = binary.LittleEndian.Uint64(own[8*i:])
	}
	least, greatest := slices.Clone(words), slices.Clone(words)
	nccl.AllReduce(comm, nccl.Of(least), nccl.Of(least), nccl.Min)
	nccl.AllReduce(comm, nccl.Of(greatest), nccl.Of(greatest), nccl.Max)
	if err := comm.Wait(ctx); err != nil {
		return fmt.Errorf("comparing the weights of all ranks: %w", err)
	}
	if !slices.Equal(least, words) || !slices.Equal(greatest, words) {
		return fmt.Errorf("ranks differ: the weights of rank %d of %d have SHA-256 %v, other ranks' another one", comm.Rank(), comm.Size(), own)
	}
	return nil
}

// broadcast overwrites x with rank 0's on every other rank. Collective.
func broadcast[T nccl.Element](ctx context.Context, comm *nccl.Comm, x []T) error {
	// A refused call is reported by Wait.
	nccl.Broadcast(comm, nccl.Of(x), nccl.Of(x), 0)
	return comm.Wait(ctx)
}
