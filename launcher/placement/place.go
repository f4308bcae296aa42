package placement

import (
	"fmt"
	"strings"
)

// Place seats size ranks on hosts; size 0 is that of the programs, else
// [Policy.PerHost] on each host, else one rank per slot. Its error joins all
// problems. The plan holds no reference to hosts or p.
func Place(size int, hosts []Host, p Policy) (*Plan, error) {
	size, rooms, err := prepare(size, hosts, p)
	if err != nil {
		return nil, err
	}
	var hostOf []int
	if p.MapBy == ByNode {
		hostOf = dealByNode(size, rooms)
	} else {
		hostOf = fillBySlot(size, rooms)
	}
	plan := newPlan(hostOf, hosts, p.Apps)
	plan.Notes = notes(plan, hosts)
	return plan, nil
}

// fillBySlot returns the host of each rank. Hosts are filled up to their slots one
// after the other; while ranks are left over, all get as many slots again. The
// sum of the limits is at least size.
func fillBySlot(size int, rooms []room) []int {
	counts := make([]int, len(rooms))
	for left, pass := size, 1; left > 0; pass++ {
		for i, r := range rooms {
			n := min(pass*r.fill, r.limit) - counts[i]
			n = min(n, left)
			counts[i] += n
			left -= n
		}
	}
	hostOf := make([]int, 0, size)
	for i, n := range counts {
		for range n {
			hostOf = append(hostOf, i)
		}
	}
	return hostOf
}

// dealByNode returns the host of each rank. Every host in turn gets one rank while
// it has a free slot; while ranks are left over, all get as many slots again.
func dealByNode(size int, rooms []room) []int {
	counts := make([]int, len(rooms))
	hostOf := make([]int, 0, size)
	free := make([]int, 0, len(rooms)) // hosts with a free slot
	for pass := 1; len(hostOf) < size; pass++ {
		free = free[:0]
		for i := range rooms {
			free = append(free, i)
		}
		for len(free) > 0 {
			next := free[:0]
			for _, i := range free {
				if len(hostOf) == size {
					return hostOf
				}
				if counts[i] == min(pass*rooms[i].fill, rooms[i].limit) {
					continue
				}
				counts[i]++
				hostOf = append(hostOf, i)
				next = append(next, i)
			}
			free = next
		}
	}
	return hostOf
}

// notes tells of hosts that have more ranks than places.
func notes(plan *Plan, hosts []Host) []string {
	var overSlots, overCPUs []string
	for _, a := range plan.Hosts {
		h, n := hosts[a.Index], len(a.Seats)
		switch {
		case h.Slots > 0 && n > h.Slots:
			overSlots = append(overSlots, fmt.Sprintf("%s %d on %d", h.Name, n, h.Slots))
		case h.Slots == 0 && h.CPUs > 0 && n > h.CPUs:
			overCPUs = append(overCPUs, fmt.Sprintf("%s %d on %d", h.Name, n, h.CPUs))
		}
	}
	var notes []string
	for _, over := range []struct {
		what string
		list []string
	}{{"declared slots", overSlots}, {"CPUs", overCPUs}} {
		if len(over.list) == 0 {
			continue
		}
		list := over.list
		if more := len(list) - maxNamed; more > 1 {
			list = append(list[:maxNamed:maxNamed], fmt.Sprintf("%d more hosts", more))
		}
		notes = append(notes, fmt.Sprintf("more ranks than %s: %s", over.what, strings.Join(list, ", ")))
	}
	return notes
}
