package launcher

import "time"

// timeNow reads this host's clock. Tests have one that jumps.
var timeNow = time.Now

// elapsed is the launcher's own clock, in nanoseconds since the job began. No
// jump of the time of day disturbs it.
func (p *prepared) elapsed() int64 { return int64(time.Since(p.began)) }

// time is the time of day when the job began, and what has passed since.
func (p *prepared) time() time.Time { return p.began.Add(time.Since(p.began)) }

// clock relates another clock to ours. Both count nanoseconds.
type clock struct {
	offset time.Duration // theirs minus ours
	unsure time.Duration // half the round trip that told it
	at     int64         // when that was, by ours
	known  bool
}

// clockDrift bounds how far the clocks of two hosts part in a second, by the
// quartz of both: 1/clockDrift of it.
const clockDrift = 10_000

// observe takes one round trip: sent and received by our clock, and theirs in
// between. The quickest trip says most, until it is long ago, or cannot be true
// beside a later one: a virtual machine that was stopped knows nothing of that
// time.
func (c *clock) observe(sent, theirs, received int64) {
	half := time.Duration(received-sent) / 2
	offset := time.Duration(theirs-sent) - half
	doubt := c.unsure + time.Duration(received-c.at)/clockDrift
	if !c.known || half <= doubt || (offset-c.offset).Abs() > half+doubt {
		*c = clock{offset: offset, unsure: half, at: received, known: true}
	}
}

// ours translates a time of the other clock.
func (c *clock) ours(theirs int64) int64 { return theirs - int64(c.offset) }
