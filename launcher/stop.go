package launcher

import (
	"syscall"
	"time"

	"github.com/gorun/gorun/launcher/verdict"
	"github.com/gorun/gorun/launcher/wire"
)

// end ends the job for a reason that is not a rank's failure, unless it ends
// already.
func (l *launch) end(reason error, s syscall.Signal) {
	if l.phase >= stopping {
		return
	}
	l.verdict.Take(verdict.End{Why: reason})
	l.stop(s, l.job.Limits.grace())
}

// stop tells all agents to end their ranks, once.
func (l *launch) stop(s syscall.Signal, grace time.Duration) {
	if l.phase >= stopping {
		return
	}
	if l.ranks.alive > 0 {
		l.event(Event{Kind: Stopping, Rank: -1})
	}
	l.enter(stopping)
	l.tellStop(s, grace)
}

// kill brings the KILL nearer, for a user who insists.
func (l *launch) kill() {
	l.enter(killing)
	l.tellStop(syscall.SIGKILL, 0)
	l.abandonOutput()
}

// tellStop tells all agents to send s now and KILL after the grace.
func (l *launch) tellStop(s syscall.Signal, grace time.Duration) {
	l.resume() // what stands still cannot end by itself
	for _, h := range l.hosts {
		if !h.ended() {
			h.conn.Send(&wire.Stop{Signal: int(s), Grace: int64(grace)})
		}
	}
}

// allEnded says whether every agent is done, or lost.
func (l *launch) allEnded() bool {
	for _, h := range l.hosts {
		if !h.ended() {
			return false
		}
	}
	return true
}
