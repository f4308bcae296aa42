package placement

import (
	"cmp"
	"slices"

	"github.com/gorun/gorun/nccl/topo"
)

// core is what of a core a job may use.
type core struct {
	cpus          []int // its allowed hardware threads
	pkg, numa, l3 int   // as in topo.Thread
}

// coresOf returns the cores of a host, those near each other side by side: by
// package, NUMA node, cache and number.
func coresOf(h Host) []core {
	threads := threadsOf(h)
	slices.SortFunc(threads, func(a, b topo.Thread) int {
		return cmp.Or(cmp.Compare(a.Package, b.Package), cmp.Compare(a.NUMA, b.NUMA), cmp.Compare(a.L3, b.L3),
			cmp.Compare(a.Core, b.Core), cmp.Compare(a.CPU, b.CPU))
	})
	cpus := make([]int, len(threads)) // all cores', one after the other
	cores := make([]core, 0, len(threads))
	for i, th := range threads {
		cpus[i] = th.CPU
		if last := len(cores) - 1; last >= 0 && threads[i-1].Core == th.Core {
			cores[last].cpus = cpus[i-len(cores[last].cpus) : i+1 : i+1]
			continue
		}
		cores = append(cores, core{cpus: cpus[i : i+1 : i+1], pkg: th.Package, numa: th.NUMA, l3: th.L3})
	}
	return cores
}

// threadsOf describes the CPUs of a host.
func threadsOf(h Host) []topo.Thread {
	if h.Topo != nil && slices.EqualFunc(h.Topo.Threads, h.CPUs, func(th topo.Thread, cpu int) bool { return th.CPU == cpu }) {
		return slices.Clone(h.Topo.Threads) // as agents tell them
	}
	known := map[int]topo.Thread{}
	if h.Topo != nil {
		for _, th := range h.Topo.Threads {
			known[th.CPU] = th
		}
	}
	threads := make([]topo.Thread, 0, len(h.CPUs))
	for _, cpu := range h.CPUs {
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
