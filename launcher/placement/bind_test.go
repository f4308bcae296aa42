package placement_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/launcher/placement"
	"github.com/gorun/gorun/nccl/topo"
)

// bound writes the CPUs of each rank of a plan; "-" is not bound.
func bound(p *placement.Plan) (list []string) {
	for rank := range p.Size {
		cpus := topo.FormatList(p.Seat(rank).CPUs)
		if cpus == "" {
			cpus = "-"
		}
		list = append(list, cpus)
	}
	return list
}

func TestBindings(t *testing.T) {
	tests := map[string]struct {
		shape  shape
		ranks  int
		policy placement.Policy
		want   []string
	}{
		"a share of the cores, with all their threads": {twoPackages, 4, placement.Policy{}, []string{"0-1,8-9", "2-3,10-11", "4-5,12-13", "6-7,14-15"}},
		"one rank has them all":                        {twoPackages, 1, placement.Policy{}, []string{"0-15"}},
		"shares differ by a core at most":              {twoPackages, 3, placement.Policy{}, []string{"0-1,8-9", "2-4,10-12", "5-7,13-15"}},
		"more ranks than cores":                        {laptop, 3, placement.Policy{}, []string{"-", "-", "-"}},
		"none":                                         {laptop, 2, placement.Policy{BindTo: placement.ToNone}, []string{"-", "-"}},
		"no NUMA":                                      {virtual, 2, placement.Policy{}, []string{"0-1", "2-3"}},
		"a container with one CPU":                     {twoPackages.with(func(s *shape) { s.allowed = []int{13} }), 1, placement.Policy{}, []string{"13"}},
		"first threads only": {
			twoPackages.with(func(s *shape) { s.allowed = []int{0, 1, 2, 3, 4, 5, 6, 7} }), 4, placement.Policy{BindTo: placement.ToCore},
			[]string{"0", "1", "2", "3"},
		},
		"half of the cores have one thread only": {
			twoPackages.with(func(s *shape) { s.allowed = []int{0, 1, 2, 3, 8, 9} }), 2, placement.Policy{},
			[]string{"0-1,8-9", "2-3"},
		},
		"a core":                                 {twoPackages, 2, placement.Policy{BindTo: placement.ToCore}, []string{"0,8", "1,9"}},
		"a hardware thread":                      {twoPackages, 3, placement.Policy{BindTo: placement.ToThread}, []string{"0", "8", "1"}},
		"two hardware threads":                   {twoPackages, 2, placement.Policy{BindTo: placement.ToThread, CPUsPerRank: 2}, []string{"0,8", "1,9"}},
		"three cores":                            {twoPackages, 2, placement.Policy{CPUsPerRank: 3}, []string{"0-2,8-10", "4-6,12-14"}},
		"three cores, over two nodes if need be": {twoPackages.with(func(s *shape) { s.cores = 5 }), 3, placement.Policy{CPUsPerRank: 3}, []string{"0-2,10-12", "3-5,13-15", "6-8,16-18"}},
		"a NUMA node":                            {twoPackages, 4, placement.Policy{BindTo: placement.ToNUMA}, []string{"0-3,8-11", "0-3,8-11", "4-7,12-15", "4-7,12-15"}},
		"a NUMA node, many ranks":                {laptop, 3, placement.Policy{BindTo: placement.ToNUMA}, []string{"0-1", "0-1", "0-1"}},
		"a cache":                                {twoPackages, 2, placement.Policy{BindTo: placement.ToL3}, []string{"0-3,8-11", "4-7,12-15"}},
		"a package of two nodes": {
			shape{packages: 2, nodes: 2, cores: 2, threads: 1}, 2, placement.Policy{BindTo: placement.ToPackage},
			[]string{"0-3", "4-7"},
		},
		"a cache that is not known is the host": {virtual, 2, placement.Policy{BindTo: placement.ToL3}, []string{"0-3", "0-3"}},
		"mapped by node of memory":              {twoPackages, 3, placement.Policy{MapBy: placement.ByNUMA}, []string{"0-1,8-9", "4-7,12-15", "2-3,10-11"}},
		"mapped by node of memory, to a core":   {twoPackages, 3, placement.Policy{MapBy: placement.ByNUMA, BindTo: placement.ToCore}, []string{"0,8", "4,12", "1,9"}},
		"mapped by package, over its nodes": {
			shape{packages: 2, nodes: 2, cores: 2, threads: 1}, 4, placement.Policy{MapBy: placement.ByPackage, BindTo: placement.ToCore},
			[]string{"0", "4", "1", "5"},
		},
		"mapped by cache": {twoPackages, 2, placement.Policy{MapBy: placement.ByL3}, []string{"0-3,8-11", "4-7,12-15"}},
		"mapped past a node that is full": {
			twoPackages.with(func(s *shape) { s.allowed = []int{0, 4, 5, 6} }), 4, placement.Policy{MapBy: placement.ByNUMA, BindTo: placement.ToCore},
			[]string{"0", "4", "5", "6"},
		},

		"next to the GPU": {
			twoPackages.with(func(s *shape) { s.gpus = []int{0, 1} }), 2, placement.Policy{},
			[]string{"0-3,8-11", "4-7,12-15"},
		},
		"GPUs counted against the nodes": {
			shape{packages: 4, nodes: 1, cores: 2, threads: 1, gpus: []int{3, 2, 1, 0}}, 4, placement.Policy{},
			[]string{"6-7", "4-5", "2-3", "0-1"},
		},
		"ranks whose GPUs are on one node divide it": {
			eightGPUs, 8, placement.Policy{},
			[]string{"0-1,16-17", "2-3,18-19", "4-5,20-21", "6-7,22-23", "8-9,24-25", "10-11,26-27", "12-13,28-29", "14-15,30-31"},
		},
		"GPUs on one node only": {
			twoPackages.with(func(s *shape) { s.gpus = []int{1, 1} }), 2, placement.Policy{},
			[]string{"4-5,12-13", "6-7,14-15"},
		},
		"more ranks than cores there": {
			laptop.with(func(s *shape) { s.gpus = []int{0} }), 3, placement.Policy{},
			[]string{"0-1", "0-1", "0-1"},
		},
		"a GPU of which the node is not known": {
			twoPackages.with(func(s *shape) { s.gpus = []int{-1, -1} }), 2, placement.Policy{},
			[]string{"0-3,8-11", "4-7,12-15"},
		},
		"the node of the GPU is not allowed": {
			twoPackages.with(func(s *shape) { s.gpus, s.allowed = []int{1}, []int{0, 1} }), 1, placement.Policy{},
			[]string{"0-1"},
		},
		"asked for, and not known": {
			virtual.with(func(s *shape) { s.gpus = []int{-1, -1} }), 2, placement.Policy{BindTo: placement.ToGPU},
			[]string{"0-1", "2-3"},
		},
		"a rank with GPUs on both nodes": {
			twoPackages.with(func(s *shape) { s.gpus = []int{0, 1} }), 1, placement.Policy{GPUsPerRank: 2},
			[]string{"0-15"},
		},
		"ranks whose nodes overlap": {
			twoPackages.with(func(s *shape) { s.gpus = []int{0, 0, 0, 1} }), 2, placement.Policy{GPUsPerRank: 2},
			[]string{"0-3,8-11", "0-15"},
		},
		"cores of each, next to the GPU": {
			twoPackages.with(func(s *shape) { s.gpus = []int{1, 0} }), 2, placement.Policy{CPUsPerRank: 2},
			[]string{"4-5,12-13", "0-1,8-9"},
		},
		"more cores of each than are next to the GPU": {
			twoPackages.with(func(s *shape) { s.gpus = []int{1, 1} }), 2, placement.Policy{CPUsPerRank: 4},
			[]string{"0-3,8-11", "4-7,12-15"},
		},
		"not the GPU": {
			twoPackages.with(func(s *shape) { s.gpus = []int{1, 0} }), 2, placement.Policy{BindTo: placement.ToShare},
			[]string{"0-3,8-11", "4-7,12-15"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			plan, err := placement.Place(test.ranks, []placement.Host{test.shape.host("a")}, test.policy)
			require.NoError(t, err)
			require.Equal(t, test.want, bound(plan))
		})
	}
}

func TestBindingsThatCannotBe(t *testing.T) {
	near := twoPackages.with(func(s *shape) { s.gpus = []int{1, 1} })
	tests := map[string]struct {
		shape  shape
		ranks  int
		policy placement.Policy
		want   string
	}{
		"cores":            {laptop, 3, placement.Policy{BindTo: placement.ToCore}, "3 ranks asked for, 2 allowed: a 2 (2 cores)"},
		"hardware threads": {laptop, 3, placement.Policy{BindTo: placement.ToThread}, "3 ranks asked for, 2 allowed: a 2 (2 hardware threads)"},
		"cores of each":    {twoPackages, 3, placement.Policy{CPUsPerRank: 4}, "3 ranks asked for, 2 allowed: a 2 (8 cores, 4 a rank)"},
		"oversubscribed all the same": {
			laptop, 3, placement.Policy{BindTo: placement.ToCore, Oversubscribe: true},
			"3 ranks asked for, 2 allowed: a 2 (2 cores)",
		},
		"no GPU": {laptop, 1, placement.Policy{BindTo: placement.ToGPU}, "1 rank asked for, 0 allowed: a 0 (no GPU)"},
		"cores next to the GPU": {
			near, 2, placement.Policy{BindTo: placement.ToGPU, CPUsPerRank: 4},
			"a: 2 ranks with 4 cores each asked for on one part of the host, 4 there",
		},
		"cores of a node of memory": {
			twoPackages.with(func(s *shape) { s.cores = 5 }), 3, placement.Policy{MapBy: placement.ByNUMA, CPUsPerRank: 3},
			"a: 2 ranks with 3 cores each asked for on one part of the host, 5 there",
		},
		"GPUs": {near, 2, placement.Policy{GPUsPerRank: 2}, "2 ranks asked for, 1 allowed: a 1 (2 GPUs, 2 a rank)"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			hosts := []placement.Host{test.shape.host("a")}
			_, err := placement.Place(test.ranks, hosts, test.policy)
			require.EqualError(t, err, test.want)
			require.NoError(t, placement.Check(test.ranks, hosts, test.policy), "only the host could tell")
		})
	}
}

// The kernel's numbers are not the order of the cores, and hosts are given as they
// come: a plan must not depend on the order in which the CPUs are listed.
func TestTheOrderOfCPUsDoesNotMatter(t *testing.T) {
	h := twoPackages.host("a")
	plan, err := placement.Place(4, []placement.Host{h}, placement.Policy{})
	require.NoError(t, err)
	slices.Reverse(h.CPUs)
	slices.Reverse(h.Topo.Threads)
	again, err := placement.Place(4, []placement.Host{h}, placement.Policy{})
	require.NoError(t, err)
	require.Equal(t, bound(plan), bound(again))
}
