package topo

import (
	"slices"
	"strconv"
	"strings"
)

// Visible returns those of a host's GPUs that CUDA would show to a process whose
// CUDA_VISIBLE_DEVICES is value, in its order. As in CUDA, an entry is a number or
// the beginning of one device's UUID, and the first that is neither ends the list;
// a number counts by PCI bus id. An entry for a part of a GPU, "MIG-…", is a device
// of that UUID about which nothing else is known.
func Visible(gpus []Accelerator, value string) []Accelerator {
	var list []Accelerator
	for entry := range strings.SplitSeq(value, ",") {
		g, ok := named(gpus, strings.TrimSpace(entry))
		if !ok || slices.Contains(list, g) || len(list) == maxDevices {
			break
		}
		list = append(list, g)
	}
	return list
}

// named returns the GPU that an entry of CUDA_VISIBLE_DEVICES is about.
func named(gpus []Accelerator, entry string) (Accelerator, bool) {
	if n, err := strconv.ParseUint(entry, 10, 16); err == nil {
		i := slices.IndexFunc(gpus, func(g Accelerator) bool { return g.Index == int(n) })
		if i < 0 {
			return Accelerator{}, false
		}
		return gpus[i], true
	}
	switch {
	case strings.HasPrefix(entry, "MIG-"):
		return Accelerator{Index: -1, UUID: bounded(entry), Model: "MIG", Location: Location{NUMA: -1}}, true
	case strings.HasPrefix(entry, "GPU-"):
		var found []Accelerator
		for _, g := range gpus {
			if strings.HasPrefix(g.UUID, entry) {
				found = append(found, g)
			}
		}
		if len(found) == 1 {
			return found[0], true
		}
	}
	return Accelerator{}, false
}
