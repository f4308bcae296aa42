package nccl_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/nccl"
)

func TestAllReduceInOneProcess(t *testing.T) {
	comms, err := nccl.InitAll(context.Background(), 3, nil)
	require.NoError(t, err)
	sums := make([][]float32, len(comms))
	for i, c := range comms {
		sums[i] = []float32{float32(i), 1}
		require.NoError(t, nccl.AllReduce(c, nccl.Of(sums[i]), nccl.Of(sums[i]), nccl.Sum))
	}
	require.NoError(t, comms.Wait(context.Background()))
	require.NoError(t, comms.Close())
	for _, x := range sums {
		require.Equal(t, []float32{3, 3}, x)
	}
}
