package launcher

import (
	"fmt"
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
		if grace > stopPatience {
			l.lingering.set(stopPatience)
		}
	}
	l.enter(stopping)
	l.tellStop(s, grace)
}

// stopPatience is how long ranks that were told to end may take before the user
// hears what the job waits for.
const stopPatience = time.Second

// tellLingering tells the user that ranks use the grace.
func (l *launch) tellLingering() {
	l.lingering.clear()
	if l.phase == stopping && l.ranks.alive > 0 {
		l.event(Event{Kind: Waiting, Rank: -1, Message: fmt.Sprintf(
			"for %s to end: KILL follows after a grace of %v, or at once when gorun is sent another INT", plural(l.ranks.alive, "rank"), l.job.Limits.grace())})
	}
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
