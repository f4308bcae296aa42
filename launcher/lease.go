package launcher

import (
	"fmt"
	"time"

	"github.com/gorun/gorun/launcher/wire"
)

// lease is this process's side of the leases between it and its agents: each
// lets go of the other after the node time-out without a word.
type lease struct {
	limit   time.Duration // Limits.Node; 0: none
	beaten  time.Time     // the last round of heartbeats; zero: there was none
	stopped time.Duration // how long this process did not run before it; 0: it did
}

// begin begins a round of heartbeats.
func (l *lease) begin(now time.Time) {
	l.stopped = 0
	l.notice(now)
	l.beaten = now
}

// notice finds out whether this process itself was stopped for so long that its
// agents gave it up.
func (l *lease) notice(now time.Time) {
	if gap := now.Sub(l.beaten); l.limit > 0 && !l.beaten.IsZero() && gap > l.limit {
		l.stopped = gap
	}
}

// beat keeps our leases with the agents and looks at theirs with us.
func (l *launch) beat(now time.Time) {
	if !l.pausing.since.IsZero() {
		return
	}
	l.lease.begin(now)
	for _, h := range l.hosts {
		if h.ended() {
			continue
		}
		if silence := now.Sub(l.began) - time.Duration(h.heard.Load()); silence > l.lease.limit && l.lease.stopped == 0 {
			l.lose(h, fmt.Errorf("nothing was heard from its agent for %v", silence.Round(time.Second)))
			continue
		}
		l.heartbeat(h)
	}
}

// heartbeat keeps one lease, and asks for the host's clock.
func (l *launch) heartbeat(h *host) { h.conn.Send(&wire.Heartbeat{Clock: l.elapsed()}) }
