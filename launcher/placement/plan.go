// Package placement decides which rank runs where. It is pure: values in, a
// plan out.
package placement

// Policy says how ranks are spread over hosts.
type Policy struct {
	MapBy   string // "slot" (the default) fills a host before the next; "node" deals ranks out in turn
	PerHost int    // ranks per host; 0: as slots allow
	// Oversubscribe allows more ranks than declared slots.
	Oversubscribe bool
}

// Host is a host as the planner sees it.
type Host struct {
	Name string
	// Slots is the declared limit; 0: not declared, and CPUs orders the filling.
	Slots, MaxSlots int
	CPUs            int // allowed hardware threads; 0: not known yet
}

// Plan is the whole job's seating, hosts in ring order.
type Plan struct {
	Size  int
	Hosts []Assignment
}

// Assignment is what one host's agent is sent.
type Assignment struct {
	Host  string
	Seats []Seat
}

// Seat is one rank's place.
type Seat struct {
	Rank, LocalRank int
	App             int // index of the rank's program
	Host            string
}
