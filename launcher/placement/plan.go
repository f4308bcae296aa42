package placement

import (
	"slices"

	"github.com/gorun/gorun/nccl/topo"
)

// Plan is the whole job's seating. It is made by [Place] and not changed
// afterwards.
type Plan struct {
	// Size is the number of ranks.
	Size int

	// Hosts are those that take part, in ring order: the order in which they were
	// given. Each has at least one rank.
	Hosts []Assignment

	// Notes say what may surprise: "more ranks than cores: node1 4 on 2".
	Notes []string

	seats []place // by rank
}

// place is where in a plan a seat is.
type place struct{ node, local int }

// Assignment is what one host's agent is sent.
type Assignment struct {
	Host  string
	Index int    // of the host in the list given to Place: names may repeat
	CPUs  []int  // that ranks may use there; nil: not known
	Seats []Seat // in order of rank, thus of local rank

	// NICs are the RDMA devices next to the GPUs of any of the seats; nil: that leaves
	// none out. Ranks of one host are told of the same ones, since NCCL makes the host's part of its
	// rings of what each of its ranks sees.
	NICs []string
}

// Seat is one rank's place.
type Seat struct {
	Rank      int
	LocalRank int    // among the ranks of its host
	Node      int    // index of its host in [Plan.Hosts]
	App       int    // index of its program
	Host      string // name of its host

	CPUs    []int    // it is bound to, ascending; nil: not bound
	GPUs    []string // its own, as CUDA_VISIBLE_DEVICES names them; nil: none
	Visible []string // those that its program sees, likewise; nil: not decided here
	NICs    []string // the RDMA devices next to its GPUs; nil: any

	gpus []topo.Accelerator // the same as GPUs
}

// newPlan numbers the ranks whose hosts are given, as indexes of hosts.
func newPlan(hostOf []int, hosts []Host, apps []int) *Plan {
	p := &Plan{Size: len(hostOf), seats: make([]place, len(hostOf))}
	ranks := make([]int, len(hosts))
	for _, host := range hostOf {
		ranks[host]++
	}
	nodeOf := make([]int, len(hosts))
	for i, n := range ranks {
		if n > 0 {
			nodeOf[i] = len(p.Hosts)
			p.Hosts = append(p.Hosts, Assignment{
				Host: hosts[i].Name, Index: i,
				CPUs: slices.Clone(hosts[i].CPUs), Seats: make([]Seat, 0, n),
			})
		}
	}
	app, appEnd := 0, len(hostOf)
	if len(apps) > 0 {
		appEnd = apps[0]
	}
	for rank, host := range hostOf {
		for rank >= appEnd {
			app++
			appEnd += apps[app]
		}
		node := nodeOf[host]
		a := &p.Hosts[node]
		p.seats[rank] = place{node, len(a.Seats)}
		a.Seats = append(a.Seats, Seat{Rank: rank, LocalRank: len(a.Seats), Node: node, App: app, Host: a.Host})
	}
	return p
}

// Seat returns the place of a rank. It panics if rank is not in 0 … Size-1.
func (p *Plan) Seat(rank int) Seat {
	at := p.seats[rank]
	return p.Hosts[at.node].Seats[at.local]
}

// all returns the seats by rank.
func (p *Plan) all() []Seat {
	seats := make([]Seat, p.Size)
	for rank := range seats {
		seats[rank] = p.Seat(rank)
	}
	return seats
}
