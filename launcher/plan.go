package launcher

import (
	"context"
	"slices"

	"github.com/gorun/gorun/launcher/placement"
)

// Plan reaches hosts and places, but starts no rank. Its errors are Run's.
func Plan(ctx context.Context, job *Job) (*placement.Plan, error) {
	p, err := prepare(job)
	if err != nil {
		return nil, err
	}
	defer p.reacher.close()
	where, err := (&attempt{prepared: p}).layOut(ctx)
	if err != nil {
		return nil, err
	}
	closeAll(where.hosts)
	return where.plan, nil
}

// layout is who is where in an attempt. It is not changed any more when ranks
// are started.
type layout struct {
	*attempt
	plan    *placement.Plan
	hosts   []*host // by node
	network network
}

// place seats the ranks on the hosts that were reached and lets go of those that
// got none. On error it has let go of no host.
func (l *lineup) place() (*layout, error) {
	plan, err := l.seat()
	if err != nil {
		return nil, err
	}
	if problems := append(l.job.Streams.check(plan.Size), l.job.Wrap.check(plan.Size)...); len(problems) > 0 {
		return nil, &PlanError{problems}
	}
	l.world = plan.Size
	where := &layout{attempt: l.attempt, plan: plan}
	idle := slices.Clone(l.hosts)
	for node, a := range plan.Hosts {
		h := l.hosts[a.Index]
		h.node = node
		where.hosts = append(where.hosts, h)
		idle[a.Index] = nil
	}
	closeAll(slices.DeleteFunc(idle, func(h *host) bool { return h == nil }))
	return where, nil
}

// seat makes the plan, and tells of what is odd about it.
func (l *lineup) seat() (*placement.Plan, error) {
	if l.policy.GPUsPerRank != placement.NoGPUs {
		if problems := checkGPUs(l.hosts); len(problems) > 0 {
			return nil, &PlanError{problems}
		}
	}
	seats := seats(l.hosts)
	l.alone = placement.Alone(seats[0], l.policy)
	plan, err := placement.Place(l.size(), seats, l.policy)
	if err != nil {
		return nil, &PlanError{[]error{err}}
	}
	notes := slices.Clone(plan.Notes)
	if l.policy.GPUsPerRank != placement.NoGPUs {
		notes = append(notes, shortOfGPUs(l.hosts)...)
	}
	return plan, l.warn(append(notes, l.oneMachine(plan)...))
}

// seats describes hosts to the planner, with what is known of them.
func seats(hosts []*host) []placement.Host {
	var seats []placement.Host
	for _, h := range hosts {
		seat := placement.Host{Name: h.name, Slots: h.entry.Slots, MaxSlots: h.entry.MaxSlots, Turns: h.entry.Turns}
		if h.hello != nil {
			inventory := h.hello.Topo
			for _, th := range inventory.Threads {
				seat.CPUs = append(seat.CPUs, th.CPU)
			}
			inventory.Accelerators = allowedGPUs(h.entry, inventory.Accelerators)
			seat.Topo = &inventory
		}
		seats = append(seats, seat)
	}
	return seats
}

// seated says whether a rank is one of the host's.
func (l *layout) seated(h *host, rank int) bool {
	return rank >= 0 && rank < l.plan.Size && l.plan.Seat(rank).Node == h.node
}

// on returns those of some ranks that run on a host.
func (l *layout) on(h *host, ranks []int) (there []int) {
	for _, r := range ranks {
		if l.plan.Seat(r).Node == h.node {
			there = append(there, r)
		}
	}
	return there
}
