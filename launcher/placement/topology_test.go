package placement_test

import (
	"fmt"
	"slices"

	"github.com/gorun/gorun/launcher/placement"
	"github.com/gorun/gorun/nccl/topo"
)

// shape is a host as tests write it. Numbers are as on Intel's machines: the first
// threads of all cores come before the second ones.
type shape struct {
	packages, nodes, cores, threads int // nodes of each package, cores of each node, threads of each core
	noNUMA                          bool

	allowed []int // nil: all
	gpus    []int // the NUMA node of each, -1: not known
	nics    []int // the same; adapters are next to the GPU of their number, if it is on that node
}

// host makes a host of a shape.
func (s shape) host(name string) placement.Host {
	inventory := &topo.Inventory{}
	all := s.packages * s.nodes * s.cores
	h := placement.Host{Name: name, Topo: inventory}
	for cpu := range all * s.threads {
		core := cpu % all
		node := core / s.cores
		pkg := node / s.nodes
		th := topo.Thread{CPU: cpu, Core: core, L3: node * s.cores, NUMA: node, Package: pkg * s.nodes * s.cores}
		if s.noNUMA {
			th.NUMA, th.L3 = -1, -1
		}
		if s.allowed == nil || slices.Contains(s.allowed, cpu) {
			inventory.Threads = append(inventory.Threads, th)
			h.CPUs = append(h.CPUs, cpu)
		}
	}
	for i, node := range s.gpus {
		inventory.Accelerators = append(inventory.Accelerators, topo.Accelerator{
			Index: i, UUID: fmt.Sprintf("GPU-%s%d", name, i), Location: location(node, i, "0e"),
		})
	}
	for i, node := range s.nics {
		inventory.Adapters = append(inventory.Adapters, topo.Adapter{
			Name: fmt.Sprintf("mlx5_%d", i), RDMA: true, Active: true, Location: location(node, i, "0f"),
		})
	}
	return h
}

// location is a slot below the i-th bridge of a node.
func location(node, i int, slot string) topo.Location {
	if node < 0 {
		return topo.Location{NUMA: -1}
	}
	return topo.Location{NUMA: node, Path: fmt.Sprintf("pci0000:%d0/0000:%d0:%02d.0/0000:%s:%02d.0", node, node, i, slot, i)}
}

// Hosts that are common.
var (
	twoPackages = shape{packages: 2, nodes: 1, cores: 4, threads: 2}
	laptop      = shape{packages: 1, nodes: 1, cores: 2, threads: 1}
	virtual     = shape{packages: 1, nodes: 1, cores: 4, threads: 1, noNUMA: true}
	eightGPUs   = shape{packages: 2, nodes: 1, cores: 8, threads: 2, gpus: []int{0, 0, 0, 0, 1, 1, 1, 1}, nics: []int{0, 0, 0, 0, 1, 1, 1, 1}}
)

// with returns s with something changed.
func (s shape) with(change func(*shape)) shape {
	change(&s)
	return s
}
