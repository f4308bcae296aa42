package verdict

import (
	"cmp"
	"slices"
	"time"
)

// Exit is the end of a rank.
type Exit struct {
	Rank, Node int
	Code       int           // exit status; negative: a signal killed it
	Aborted    bool          // it has asked for the end of the job
	Stopped    bool          // its agent had told it to end
	Clock      time.Duration // when, by the clock of its agent,
	At         time.Time     // and by the launcher's, as well as that knew the other,
	Unsure     time.Duration // give or take
}

// Failed says whether the rank failed by itself.
func (e Exit) Failed() bool { return e.Code != 0 && !e.Stopped }

// first returns the failure that came first. On one host, order is known by its
// own clock. Between hosts, times are known to the doubt about their clocks: of
// failures before which no other surely happened, meaning decides. A death by
// signal comes first, that of a script's program too, since a rank that sees its
// peer die often exits or aborts with an error at once; then an abort, then the
// lowest rank. So it does for ranks of a host that its agent found ending at one
// moment.
func first(failures []Exit) Exit {
	onNode := map[int]*moment{} // the first of each
	for _, f := range failures {
		m := onNode[f.Node]
		if m == nil {
			m = &moment{f.Clock, f}
			onNode[f.Node] = m
		}
		m.clock = min(m.clock, f.Clock)
		if f.Unsure < m.known.Unsure {
			m.known = f
		}
	}
	over := onNode[failures[0].Node].latest() // when the first of all had surely happened
	for _, m := range onNode {
		if m.latest().Before(over) {
			over = m.latest()
		}
	}
	candidates := slices.DeleteFunc(slices.Clone(failures), func(f Exit) bool {
		m := onNode[f.Node]
		return f.Clock > m.clock || m.earliest().After(over)
	})
	return slices.MinFunc(candidates, func(a, b Exit) int {
		return cmp.Or(cmp.Compare(a.weight(), b.weight()), cmp.Compare(a.Rank, b.Rank))
	})
}

// moment is a time by a node's clock, of which the launcher knew most when it heard
// of one of its ranks.
type moment struct {
	clock time.Duration
	known Exit
}

// By the launcher's clock, it was between.
func (m *moment) earliest() time.Time { return m.at().Add(-m.known.Unsure) }
func (m *moment) latest() time.Time   { return m.at().Add(m.known.Unsure) }
func (m *moment) at() time.Time       { return m.known.At.Add(m.clock - m.known.Clock) }

// weight is how little an end tells of what happened at its moment.
func (e Exit) weight() int {
	switch {
	case e.Code < 0, e.Code > shellSignal && e.Code <= shellSignal+maxSignal:
		return 0
	case e.Aborted:
		return 1
	}
	return 2
}

// shellSignal and the number of a signal are the status with which a shell ends
// whose program the signal killed (POSIX.1-2024, XCU 2.8.2, says more than 128).
const (
	shellSignal = 128
	maxSignal   = 64
)
