//go:build linux

package agent

import (
	"slices"
	"time"

	"github.com/gorun/gorun/launcher/agent/proc"
)

// A process that ends closes its files and sockets before it can be reaped,
// and giving back a GPU can take long in between. Its peers may see that, fail
// and be reaped first, and several that wait to be reaped come in any order. So
// when the first rank is reaped that failed, those that the kernel is already
// taking down count as having ended at that moment too: of those, the launcher
// looks at how they ended, not at when.

// noteDying notes the ranks that are ending at now. a.mu is held.
func (a *agent) noteDying(now time.Time) {
	for _, r := range a.ranks {
		switch {
		case !r.alive || r.reaped || !r.dying.IsZero():
		case r.pid == 0:
			r.unborn = now
		case proc.Exiting(r.pid):
			r.dying = now
		case len(r.connections) > 0: // whoever serves them may not have come to see it
			a.noteVanished(r, now)
		}
	}
}

// begun notes that the call that started a rank has returned, and asks about a
// rank that could not be asked about when another failed: what has ended by now,
// or was reaped, had begun to end, as good as then. agent.mu is held.
func (r *rank) begun(pid int) {
	r.pid = pid
	if !r.unborn.IsZero() && (r.reaped || proc.Exiting(pid)) {
		r.dying = r.unborn
	}
	r.unborn = time.Time{}
}

// rank returns a rank of this host; nil: it is not started yet, or not of this
// host. a.mu is held.
func (a *agent) rank(number int) *rank {
	i := slices.IndexFunc(a.ranks, func(r *rank) bool { return r.number == number })
	if i < 0 {
		return nil
	}
	return a.ranks[i]
}
