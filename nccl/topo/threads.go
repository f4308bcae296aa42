package topo

import (
	"fmt"
	"slices"
)

// threads describes the allowed CPUs.
func (t *tree) threads(allowed []int) []Thread {
	allowed = slices.Sorted(slices.Values(allowed))
	allowed = slices.Compact(allowed)
	threads := make([]Thread, 0, min(len(allowed), maxCPUs))
	for _, cpu := range allowed {
		if cpu >= 0 && cpu < maxCPUs {
			threads = append(threads, Thread{CPU: cpu, Core: cpu, L3: -1, NUMA: -1, Package: -1})
		}
	}
	if len(threads) == 0 {
		return nil
	}
	if smt, _ := t.text("sys/devices/system/cpu/smt/active"); smt != "0" {
		t.share(threads, "topology/thread_siblings_list", func(th *Thread, lowest int) { th.Core = lowest })
	}
	t.share(threads, "topology/core_siblings_list", func(th *Thread, lowest int) { th.Package = lowest })
	if cache := t.thirdLevel(threads[0].CPU); cache != "" {
		t.share(threads, cache+"/shared_cpu_list", func(th *Thread, lowest int) { th.L3 = lowest })
	}
	t.nodes(threads)
	return threads
}

// share calls set for each thread with the lowest CPU of its group. file, in the
// folder of any CPU, lists the group; it is read once for each. Where the first CPU
// has no such file, the others are taken not to have it either.
func (t *tree) share(threads []Thread, file string, set func(th *Thread, lowest int)) {
	done := make([]bool, len(threads))
	for i, th := range threads {
		if done[i] {
			continue
		}
		group := t.list(cpuFolder(th.CPU) + file)
		if !slices.Contains(group, th.CPU) {
			if i == 0 {
				return
			}
			continue
		}
		for _, cpu := range group {
			if at, ok := find(threads, cpu); ok && !done[at] {
				done[at] = true
				set(&threads[at], slices.Min(group))
			}
		}
	}
}

// thirdLevel returns the folder of a CPU's L3 cache, "" if it has none.
func (t *tree) thirdLevel(cpu int) string {
	for index := range 8 { // more than any processor has, so that a strange tree ends the search
		folder := fmt.Sprintf("cache/index%d", index)
		switch t.number(cpuFolder(cpu)+folder+"/level", 0) {
		case 3:
			return folder
		case 0:
			return ""
		}
	}
	return ""
}

// nodes sets the NUMA nodes of threads.
func (t *tree) nodes(threads []Thread) {
	nodes := t.list("sys/devices/system/node/has_cpu") // without those that are memory only
	if nodes == nil {
		nodes = t.list("sys/devices/system/node/online")
	}
	for _, node := range nodes {
		for _, cpu := range t.list(fmt.Sprintf("sys/devices/system/node/node%d/cpulist", node)) {
			if at, ok := find(threads, cpu); ok {
				threads[at].NUMA = node
			}
		}
	}
}

func cpuFolder(cpu int) string { return fmt.Sprintf("sys/devices/system/cpu/cpu%d/", cpu) }

// find returns the index of a CPU.
func find(threads []Thread, cpu int) (int, bool) {
	return slices.BinarySearchFunc(threads, cpu, func(th Thread, cpu int) int { return th.CPU - cpu })
}
