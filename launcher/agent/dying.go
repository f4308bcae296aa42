//go:build linux

package agent

import (
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
		if r.alive && r.pid > 0 && r.dying.IsZero() && proc.Exiting(r.pid) {
			r.dying = now
		}
	}
}
