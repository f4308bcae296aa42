package launcher

import (
	"github.com/gorun/gorun/launcher/placement"
	"github.com/gorun/gorun/launcher/wire"
)

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

// wireSeats returns what an agent is told of the seats of its ranks.
func wireSeats(seats []placement.Seat) []wire.Seat {
	list := make([]wire.Seat, len(seats))
	for i, s := range seats {
		list[i] = wire.Seat{CPUs: s.CPUs, GPUs: s.GPUs, Visible: s.Visible}
	}
	return list
}
