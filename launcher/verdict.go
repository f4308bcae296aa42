package launcher

import (
	"slices"
	"time"
)

// failure is a rank's end that may decide the job.
type failure struct {
	exit RankExit
	node int
	// at is when it happened by the launcher's clock, give or take unsure.
	at     time.Time
	unsure time.Duration
}

// firstFailure returns the failure that came first. Between hosts, times are
// known only to the uncertainty of their clocks: what lies closer together is
// ordered by meaning. A death by signal comes before an exit, since a rank
// that sees its peer die often exits with an error at once; then the lowest
// rank. On one host that is so for ranks that its agent found ending at once.
func firstFailure(failures []failure) *RankExit {
	if len(failures) == 0 {
		return nil
	}
	earliest := slices.MinFunc(failures, func(a, b failure) int { return a.at.Compare(b.at) })
	best := earliest
	for _, f := range failures {
		if f.node == earliest.node && !f.at.Equal(earliest.at) || f.at.Sub(earliest.at) > f.unsure+earliest.unsure {
			continue
		}
		if signals, ours := f.exit.Signal != "", best.exit.Signal != ""; signals != ours {
			if signals {
				best = f
			}
		} else if f.exit.Rank < best.exit.Rank {
			best = f
		}
	}
	return &best.exit
}

// clock relates a host's clock to ours.
type clock struct {
	offset time.Duration // theirs minus ours
	unsure time.Duration // half the shortest round trip
	known  bool
}

// observe takes one round trip: sent and received by our clock, and theirs in
// between. The quickest trip says most.
func (c *clock) observe(sent, theirs, received time.Time) {
	half := received.Sub(sent) / 2
	if !c.known || half < c.unsure {
		*c = clock{offset: theirs.Sub(sent.Add(half)), unsure: half, known: true}
	}
}

// ours translates a time of the host's clock.
func (c *clock) ours(theirs time.Time) time.Time { return theirs.Add(-c.offset) }
