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
	At         time.Time     // by the launcher's clock,
	Unsure     time.Duration // give or take
}

// Failed says whether the rank failed by itself.
func (e Exit) Failed() bool { return e.Code != 0 && !e.Stopped }

// first returns the failure that came first. On one host, order is known.
// Between hosts, times are known to the doubt about their clocks: of failures
// before which no other surely happened, meaning decides. A death by signal
// comes first, that of a script's program too, since a rank that sees its peer die
// often exits or aborts with an error at once; then an abort, then the lowest rank. So it does for ranks of a host that its
// agent found ending at one moment.
func first(failures []Exit) Exit {
	onNode := map[int]time.Time{} // the first moment of each
	over := failures[0].latest()  // when the first of all had surely happened
	for _, f := range failures {
		if at, ok := onNode[f.Node]; !ok || f.At.Before(at) {
			onNode[f.Node] = f.At
		}
		if f.latest().Before(over) {
			over = f.latest()
		}
	}
	candidates := slices.DeleteFunc(slices.Clone(failures), func(f Exit) bool {
		return f.At.After(onNode[f.Node]) || f.earliest().After(over)
	})
	return slices.MinFunc(candidates, func(a, b Exit) int {
		return cmp.Or(cmp.Compare(a.weight(), b.weight()), cmp.Compare(a.Rank, b.Rank))
	})
}

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

// When it happened, between.
func (e Exit) earliest() time.Time { return e.At.Add(-e.Unsure) }
func (e Exit) latest() time.Time   { return e.At.Add(e.Unsure) }
