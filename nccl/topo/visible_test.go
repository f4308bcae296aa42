package topo_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/nccl/topo"
)

func TestVisible(t *testing.T) {
	gpus := []topo.Accelerator{{Index: 0, UUID: "GPU-aa"}, {Index: 1, UUID: "GPU-ab"}, {Index: 2}}
	mig := topo.Accelerator{Index: -1, UUID: "MIG-1", Model: "MIG", Location: topo.Location{NUMA: -1}}
	for value, want := range map[string][]topo.Accelerator{
		"0,1":           gpus[:2],
		"2,0":           {gpus[2], gpus[0]},
		"GPU-ab, 0":     {gpus[1], gpus[0]},
		"GPU-a":         nil, // of both
		"":              nil,
		"-1":            nil,
		"NoDevFiles":    nil,
		"0,7,1":         gpus[:1],
		"0,-1,1":        gpus[:1],
		"1,1":           gpus[1:2],
		"GPU-":          nil,
		"MIG-1,GPU-aa":  {mig, gpus[0]},
		"18446744073":   nil,
		"0 , GPU-ab,\t": gpus[:2],
	} {
		require.Equal(t, want, topo.Visible(gpus, value), "%q", value)
	}
}
