package placement

import (
	"fmt"
	"slices"
)

// bind binds the seats of a host, which have their GPUs, to its CPUs.
func bind(h Host, seats []*Seat, p Policy) error {
	cores := coresOf(h)
	if len(cores) == 0 || p.BindTo == ToNone {
		return nil
	}
	if p.MapBy == ByRankfile {
		return bindFixed(h.Name, cores, seats, p.Rankfile)
	}
	to := p.BindTo
	if to == "" {
		to = ToShare
		if near := byGPUs(cores, seats); near != nil && (p.CPUsPerRank == 0 || fit(near, p.CPUsPerRank)) {
			to = ToGPU
		}
	}
	switch {
	case to == ToThread:
		cores = split(cores)
	case to == ToShare && len(seats) > len(cores):
		return nil // there is not one for each
	}
	teams := []team{{seats, cores, false}}
	switch near := byGPUs(cores, seats); {
	case to == ToGPU && near != nil:
		teams = near
	case domainOf[p.MapBy] != nil:
		teams = dealt(cores, seats, max(p.CPUsPerRank, 1), domainOf[p.MapBy])
	}
	if p.CPUsPerRank > 0 && !fit(teams, p.CPUsPerRank) {
		return misfit(h.Name, teams, p.CPUsPerRank, to)
	}
	for _, t := range teams {
		for i, share := range t.divide(to, p.CPUsPerRank) {
			if of := domainOf[to]; of != nil {
				share = whole(cores, share, of, p.CPUsPerRank > 0)
			}
			t.seats[i].CPUs = cpusOf(share)
		}
	}
	return nil
}

// domainOf tells which cores make up what a rank is bound to, where that is more
// than its share, or what ranks are dealt out to; a mapping and a binding have one
// name. Where the kernel does not tell, the host is one such domain.
var domainOf = map[string]func(core) int{
	ToL3:      func(c core) int { return c.l3 },
	ToNUMA:    numaOf,
	ToPackage: func(c core) int { return c.pkg },
}

// whole returns the cores of the domain in which a share begins, or of all domains
// that it reaches into.
func whole(cores, share []core, of func(core) int, all bool) []core {
	if !all {
		share = share[:1]
	}
	var wide []core
	for _, c := range cores {
		if slices.ContainsFunc(share, func(s core) bool { return of(s) == of(c) }) {
			wide = append(wide, c)
		}
	}
	return wide
}

// team are seats that divide some cores among themselves.
type team struct {
	seats  []*Seat
	cores  []core
	common bool // other teams have some of the cores too, so each seat gets them all
}

// divide returns the cores of each seat.
func (t team) divide(to string, perRank int) [][]core {
	n, c := len(t.seats), len(t.cores)
	shares := make([][]core, n)
	switch {
	case perRank > 0 || to == ToCore || to == ToThread:
		return packed(t.cores, n, max(perRank, 1))
	case t.common, to == ToGPU && n > c:
		for i := range shares {
			shares[i] = t.cores
		}
	default:
		for i := range shares {
			first := i * c / n
			shares[i] = t.cores[first:max((i+1)*c/n, first+1)]
		}
	}
	return shares
}

// packed returns n times so many cores, one after the other, and none of them over
// two NUMA nodes if that can be helped.
func packed(cores []core, n, each int) [][]core {
	shares := make([][]core, 0, n)
	for _, node := range domains(cores, numaOf) {
		for len(node) >= each && len(shares) < n {
			shares = append(shares, node[:each])
			node = node[each:]
		}
	}
	if len(shares) == n {
		return shares
	}
	shares = shares[:0]
	for i := range n {
		shares = append(shares, cores[i*each:(i+1)*each])
	}
	return shares
}

// fit reports whether every team has so many cores for each of its seats.
func fit(teams []team, each int) bool {
	return !slices.ContainsFunc(teams, func(t team) bool { return t.common || len(t.seats)*each > len(t.cores) })
}

// misfit says why teams have too few cores, though the host has enough.
func misfit(host string, teams []team, each int, to string) error {
	what := "core"
	if to == ToThread {
		what = "hardware thread"
	}
	for _, t := range teams {
		if n := len(t.seats); n*each > len(t.cores) {
			return fmt.Errorf("%s: %s with %s each asked for on one part of the host, %d there", host, count(n, "rank"), count(each, what), len(t.cores))
		}
	}
	return fmt.Errorf("%s: %s for each rank asked for next to GPUs of several NUMA nodes, which ranks share", host, count(each, what))
}

// dealt deals seats out to domains in turn, passing over those that have no room
// for another as long as one has.
func dealt(cores []core, seats []*Seat, need int, of func(core) int) []team {
	var teams []team
	for _, domain := range domains(cores, of) {
		teams = append(teams, team{cores: domain})
	}
	next := 0
	for _, s := range seats {
		for range teams {
			if t := teams[next%len(teams)]; (len(t.seats)+1)*need <= len(t.cores) {
				break
			}
			next++
		}
		t := &teams[next%len(teams)]
		t.seats = append(t.seats, s)
		next++
	}
	return slices.DeleteFunc(teams, func(t team) bool { return len(t.seats) == 0 })
}

// byGPUs makes a team of the seats whose GPUs are on the same NUMA nodes, with the
// cores there. It returns nil if a seat has no GPU, or none of the cores are known
// to be next to one's.
func byGPUs(cores []core, seats []*Seat) []team {
	var teams []team
	var nodes [][]int
	for _, s := range seats {
		near := nodesOf(s)
		i := slices.IndexFunc(nodes, func(n []int) bool { return slices.Equal(n, near) })
		if i < 0 {
			i = len(teams)
			nodes = append(nodes, near)
			teams = append(teams, team{})
			for _, c := range cores {
				if c.numa >= 0 && slices.Contains(near, c.numa) {
					teams[i].cores = append(teams[i].cores, c)
				}
			}
			if len(teams[i].cores) == 0 {
				return nil
			}
			for j, other := range nodes[:i] {
				if slices.ContainsFunc(near, func(n int) bool { return slices.Contains(other, n) }) {
					teams[i].common, teams[j].common = true, true
				}
			}
		}
		teams[i].seats = append(teams[i].seats, s)
	}
	return teams
}

// nodesOf returns the NUMA nodes of a seat's GPUs, ascending.
func nodesOf(s *Seat) []int {
	var nodes []int
	for _, g := range s.gpus {
		nodes = append(nodes, g.NUMA)
	}
	slices.Sort(nodes)
	return slices.Compact(nodes)
}
