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
	a.NICs = common(a.Seats)
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

// nearest returns the RDMA devices nearest to GPUs, nil if all are as near.
func nearest(gpus []topo.Accelerator, adapters []topo.Adapter) []string {
	var names []string
	least, usable := 0, 0
	for _, a := range adapters {
		if !a.RDMA || !a.Active {
			continue
		}
		usable++
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
	if len(names) == usable {
		return nil
	}
	return names
}

// common returns the adapters of all seats together, nil if one may use any.
func common(seats []Seat) []string {
	var names []string
	for _, s := range seats {
		if s.NICs == nil {
			return nil
		}
		names = append(names, s.NICs...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
