package launcher

import "time"

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
