package placement

import (
	"cmp"
	"slices"

	"github.com/gorun/gorun/nccl/topo"
)

// core is what of a core a job may use.
type core struct {
	cpus          []int // its allowed hardware threads
	pkg, numa, l3 int   // by topo.Thread
	first         int   // the core's name
}

// coresOf returns the cores of a host, those near each other side by side: by
// package, NUMA node, cache and number.
func coresOf(h Host) []core {
	byName := map[int]int{} // index in cores
	var cores []core
	for _, th := range threadsOf(h) {
		i, ok := byName[th.Core]
		if !ok {
			i = len(cores)
			byName[th.Core] = i
			cores = append(cores, core{pkg: th.Package, numa: th.NUMA, l3: th.L3, first: th.Core})
		}
		cores[i].cpus = append(cores[i].cpus, th.CPU)
	}
	slices.SortFunc(cores, func(a, b core) int {
		return cmp.Or(cmp.Compare(a.pkg, b.pkg), cmp.Compare(a.numa, b.numa), cmp.Compare(a.l3, b.l3), cmp.Compare(a.first, b.first))
	})
	return cores
}

// threadsOf describes the CPUs of a host, ascending.
func threadsOf(h Host) []topo.Thread {
	known := map[int]topo.Thread{}
	if h.Topo != nil {
		for _, th := range h.Topo.Threads {
			known[th.CPU] = th
		}
	}
	threads := make([]topo.Thread, 0, len(h.CPUs))
	for _, cpu := range slices.Sorted(slices.Values(h.CPUs)) {
		th, ok := known[cpu]
		if !ok {
			th = topo.Thread{CPU: cpu, Core: cpu, L3: -1, NUMA: -1, Package: -1}
		}
		threads = append(threads, th)
	}
	return threads
}

// split makes a core of each hardware thread.
func split(cores []core) []core {
	var threads []core
	for _, c := range cores {
		for i := range c.cpus {
			th := c
			th.cpus = c.cpus[i : i+1]
			threads = append(threads, th)
		}
	}
	return threads
}

// domains groups cores by what they have in common, in the order of cores.
func domains(cores []core, of func(core) int) [][]core {
	var groups [][]core
	at := map[int]int{}
	for _, c := range cores {
		i, ok := at[of(c)]
		if !ok {
			i = len(groups)
			at[of(c)] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], c)
	}
	return groups
}

func numaOf(c core) int { return c.numa }

// cpusOf returns the CPUs of cores, ascending and each once.
func cpusOf(cores []core) []int {
	var cpus []int
	for _, c := range cores {
		cpus = append(cpus, c.cpus...)
	}
	slices.Sort(cpus)
	return slices.Compact(cpus)
}
