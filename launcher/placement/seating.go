package placement

import (
	"cmp"
	"fmt"
	"slices"
)

// seating returns the host of each rank, as an index of hosts. The sum of the
// limits of rooms is at least size.
func seating(size int, hosts []Host, rooms []room, p Policy) []int {
	var hostOf []int
	natural := BySlot
	switch p.MapBy {
	case ByNode:
		hostOf, natural = dealByNode(size, rooms), ByNode
	case BySequence:
		hostOf = sequence(size, hosts)
	case ByRankfile:
		return fixed(size, hosts, p.Rankfile)
	default:
		hostOf = fillBySlot(size, rooms)
	}
	switch p.RankBy {
	case natural, "":
	case BySlot:
		slices.Sort(hostOf)
	case ByNode:
		hostOf = acrossHosts(hostOf, len(hosts))
	}
	return hostOf
}

// fillBySlot fills hosts up to their slots one after the other; while ranks are
// left over, all get as many slots again.
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

// dealByNode gives every host in turn one rank while it has a free slot; while
// ranks are left over, all get as many slots again.
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

// sequence gives each turn of a host a rank, in order, and begins anew where ranks
// are left over.
func sequence(size int, hosts []Host) []int {
	type turn struct{ at, host int }
	var order []turn
	next := 0
	for i, h := range hosts {
		own := h.Turns
		if own == nil {
			own = []int{next}
		}
		for _, at := range own {
			order = append(order, turn{at, i})
			next = max(next, at+1)
		}
	}
	slices.SortStableFunc(order, func(a, b turn) int { return cmp.Compare(a.at, b.at) })
	hostOf := make([]int, size)
	for rank := range hostOf {
		hostOf[rank] = order[rank%len(order)].host
	}
	return hostOf
}

// acrossHosts numbers the same ranks anew, host by host in turn.
func acrossHosts(hostOf []int, hosts int) []int {
	left := make([]int, hosts)
	for _, host := range hostOf {
		left[host]++
	}
	dealt := make([]int, 0, len(hostOf))
	for len(dealt) < len(hostOf) {
		for host := range left {
			if left[host] > 0 {
				left[host]--
				dealt = append(dealt, host)
			}
		}
	}
	return dealt
}

// crowded refuses a seating that gives a host more ranks than it takes, which only
// those can that were not made from its room.
func crowded(hostOf []int, hosts []Host, rooms []room) error {
	counts := make([]int, len(hosts))
	for _, host := range hostOf {
		counts[host]++
	}
	for i, n := range counts {
		if n > rooms[i].limit {
			return fmt.Errorf("%s on %s asked for, %d allowed (%s)", count(n, "rank"), hosts[i].Name, rooms[i].limit, rooms[i].reason)
		}
	}
	return nil
}
