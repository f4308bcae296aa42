package placement

import (
	"errors"
	"fmt"
	"strings"
)

// Place seats size ranks on hosts; size 0 is that of the programs, else
// [Policy.PerHost] on each host, else one rank per slot. It gives each rank GPUs
// and CPUs where those are known. Its error joins all problems. The plan holds no
// reference to hosts or p.
func Place(size int, hosts []Host, p Policy) (*Plan, error) {
	size, rooms, err := prepare(size, hosts, p)
	if err != nil {
		return nil, err
	}
	hostOf := seating(size, hosts, rooms, p)
	if err := crowded(hostOf, hosts, rooms); err != nil {
		return nil, err
	}
	plan := newPlan(hostOf, hosts, p.Apps)
	var problems []error
	for i := range plan.Hosts {
		a := &plan.Hosts[i]
		h := hosts[a.Index]
		equip(h, a, p)
		seats := make([]*Seat, len(a.Seats))
		for i := range seats {
			seats[i] = &a.Seats[i]
		}
		if err := bind(h, seats, p); err != nil {
			problems = append(problems, err)
		}
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	plan.Notes = notes(plan, hosts, p)
	return plan, nil
}

// notes tells of hosts that have more ranks than places.
func notes(plan *Plan, hosts []Host, p Policy) []string {
	var overSlots, overGPUs, overCores []string
	for _, a := range plan.Hosts {
		h, n := hosts[a.Index], len(a.Seats)
		gpus := len(gpus(h, p))
		if h.Slots > 0 && n > h.Slots {
			overSlots = append(overSlots, fmt.Sprintf("%s %d on %d", h.Name, n, h.Slots))
		}
		if gpus > 0 && n > gpus {
			overGPUs = append(overGPUs, fmt.Sprintf("%s %d on %d", h.Name, n, gpus))
		}
		if gpus == 0 && h.Slots == 0 && h.CPUs != nil {
			if cores := len(coresOf(h)); n > cores {
				overCores = append(overCores, fmt.Sprintf("%s %d on %d", h.Name, n, cores))
			}
		}
	}
	var notes []string
	for _, over := range []struct {
		what string
		list []string
	}{{"declared slots", overSlots}, {"GPUs", overGPUs}, {"cores", overCores}} {
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
