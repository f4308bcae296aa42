package placement

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// Plan is the whole job's seating. It is made by [Place] and not changed
// afterwards.
type Plan struct {
	// Size is the number of ranks.
	Size int

	// Hosts are those that take part, in ring order: the order in which they were
	// given. Each has at least one rank.
	Hosts []Assignment

	// Notes say what may surprise: "more ranks than CPUs: node1 4 on 2".
	Notes []string

	seats []Seat // by rank
}

// Assignment is what one host's agent is sent.
type Assignment struct {
	Host  string
	Index int    // of the host in the list given to Place: names may repeat
	Seats []Seat // in order of rank, thus of local rank
}

// Seat is one rank's place.
type Seat struct {
	Rank      int
	LocalRank int    // among the ranks of its host
	Node      int    // index of its host in [Plan.Hosts]
	App       int    // index of its program
	Host      string // name of its host
}

// newPlan numbers the ranks whose hosts are given, as indexes of hosts.
func newPlan(hostOf []int, hosts []Host, apps []int) *Plan {
	p := &Plan{Size: len(hostOf), seats: make([]Seat, len(hostOf))}
	ranks := make([]int, len(hosts))
	for _, host := range hostOf {
		ranks[host]++
	}
	nodeOf := make([]int, len(hosts))
	for i, n := range ranks {
		if n > 0 {
			nodeOf[i] = len(p.Hosts)
			p.Hosts = append(p.Hosts, Assignment{Host: hosts[i].Name, Index: i, Seats: make([]Seat, 0, n)})
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
		a := &p.Hosts[nodeOf[host]]
		seat := Seat{Rank: rank, LocalRank: len(a.Seats), Node: nodeOf[host], App: app, Host: a.Host}
		a.Seats = append(a.Seats, seat)
		p.seats[rank] = seat
	}
	return p
}

// Seat returns the place of a rank. It panics if rank is not in 0 … Size-1.
func (p *Plan) Seat(rank int) Seat { return p.seats[rank] }

// Table writes the plan as people read it, a line for each rank. The program's
// index is shown if there are several.
func (p *Plan) Table(w io.Writer) error {
	_, err := fmt.Fprintf(w, "%s on %s\n", count(p.Size, "rank"), count(len(p.Hosts), "host"))
	if err != nil {
		return err
	}
	programs := false
	for _, s := range p.seats {
		programs = programs || s.App > 0
	}
	// The writer holds all cells back until Flush, whose error is thus the only one.
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if programs {
		fmt.Fprintln(t, "RANK\tNODE\tLOCAL\tPROGRAM\tHOST")
	} else {
		fmt.Fprintln(t, "RANK\tNODE\tLOCAL\tHOST")
	}
	for _, s := range p.seats {
		fmt.Fprintf(t, "%d\t%d\t%d\t", s.Rank, s.Node, s.LocalRank)
		if programs {
			fmt.Fprintf(t, "%d\t", s.App)
		}
		fmt.Fprintln(t, s.Host)
	}
	return t.Flush()
}

func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprint(n, " ", what)
}
