package topo_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/nccl/topo"
)

// From near to far, as NCCL orders paths: PIX, PXB, PHB, then over NUMA nodes.
func TestDistanceGrows(t *testing.T) {
	gpu := topo.Location{Path: "pci0000:0c/0000:0c:01.0/0000:0d:00.0/0000:0f:00.0", NUMA: 0}
	near := []struct {
		name string
		topo.Location
	}{
		{"under the same bridge", topo.Location{Path: "pci0000:0c/0000:0c:01.0/0000:0d:00.0/0000:0e:00.0", NUMA: 0}},
		{"two bridges on", topo.Location{Path: "pci0000:0c/0000:0c:01.0/0000:0d:01.0/0000:10:00.0/0000:11:00.0", NUMA: 0}},
		{"on the same root bus", topo.Location{Path: "pci0000:0c/0000:0c:02.0", NUMA: 0}},
		{"on the same node", topo.Location{Path: "pci0000:40/0000:40:01.0/0000:41:00.0", NUMA: 0}},
		{"on another node", topo.Location{Path: "pci0000:80/0000:80:01.0/0000:81:00.0", NUMA: 1}},
	}
	last := gpu.Distance(gpu)
	require.Zero(t, last)
	for _, l := range near {
		d := gpu.Distance(l.Location)
		require.Greater(t, d, last, l.name)
		require.Equal(t, d, l.Distance(gpu), "the way back is as far")
		last = d
	}
	unknown := topo.Location{NUMA: -1}
	require.Equal(t, gpu.Distance(near[3].Location), gpu.Distance(unknown), "what is not known is not taken to be far")
	require.Equal(t, gpu.Distance(unknown), unknown.Distance(unknown))
}
