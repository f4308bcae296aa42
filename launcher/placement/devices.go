package placement

import (
	"slices"
	"strconv"

	"github.com/gorun/gorun/nccl/topo"
)

// equip gives the seats of a host their GPUs and the adapters next to those.
func equip(h Host, a *Assignment, p Policy) {
	gpus := gpus(h, p)
	if len(gpus) == 0 {
		return
	}
	each := max(p.GPUsPerRank, 1)
	var visible []topo.Accelerator
	for i := range a.Seats {
		s := &a.Seats[i]
		for j := range each {
			s.gpus = append(s.gpus, gpus[(i*each+j)%len(gpus)])
		}
		s.GPUs = identifiers(s.gpus, gpus)
		s.NICs = nearest(s.gpus, h.Topo.Adapters)
		visible = append(visible, s.gpus...)
	}
	visible = append(visible, gpus...)
	for i := range a.Seats {
		s := &a.Seats[i]
		if s.Visible = s.GPUs; p.GPUVisible != OwnVisible {
			s.Visible = identifiers(visible, gpus)
		}
	}
	a.NICs = together(a.Seats, h.Topo.Adapters)
}

// identifiers names GPUs as CUDA_VISIBLE_DEVICES does, each once: by their UUIDs,
// or, where the driver does not know one of the host's yet, by their indexes.
func identifiers(list, host []topo.Accelerator) []string {
	byIndex := slices.ContainsFunc(host, func(g topo.Accelerator) bool { return g.UUID == "" })
	var names []string
	for _, g := range list {
		name := g.UUID
		if byIndex && g.Index >= 0 {
			name = strconv.Itoa(g.Index)
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// usable reports whether an adapter could carry NCCL's traffic by RDMA.
func usable(a topo.Adapter) bool { return a.RDMA && a.Active }

// nearest returns the RDMA devices nearest to GPUs, nil if all are as near.
func nearest(gpus []topo.Accelerator, adapters []topo.Adapter) []string {
	var names []string
	least, all := 0, 0
	for _, a := range adapters {
		if !usable(a) {
			continue
		}
		all++
		distance := gpus[0].Distance(a.Location)
		for _, g := range gpus[1:] {
			distance = min(distance, g.Distance(a.Location))
		}
		if len(names) == 0 || distance < least {
			least, names = distance, nil
		}
		if distance == least {
			names = append(names, a.Name)
		}
	}
	if len(names) == all {
		return nil
	}
	return names
}

// together returns the adapters of all seats, nil if those are all that there are,
// or one seat may use any.
func together(seats []Seat, adapters []topo.Adapter) []string {
	var names []string
	for _, s := range seats {
		if s.NICs == nil {
			return nil
		}
		names = append(names, s.NICs...)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	for _, a := range adapters {
		if usable(a) && !slices.Contains(names, a.Name) {
			return names
		}
	}
	return nil
}
