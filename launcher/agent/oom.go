//go:build linux

package agent

import (
	"sync"

	"github.com/gorun/gorun/launcher/agent/cgroup"
)

// oomCounter tells whether the kernel's out-of-memory killer has struck: in
// the control groups of the agent, whose processes are its ranks too, or
// somewhere on the host, which is a weaker hint. The zero value knows of none.
type oomCounter struct {
	begun   bool
	folders cgroup.Folders

	mu          sync.Mutex // ranks end on several goroutines
	group, host int        // kills that ranks' ends account for
}

func (o *oomCounter) begin(f cgroup.Folders) {
	o.begun, o.folders = true, f
	o.group, _ = f.OOMKills()
	o.host, _ = cgroup.HostOOMKills()
}

// take reports whether there was a kill that no earlier call has reported.
// Every call takes one: two ranks that were killed at once both hear of it.
func (o *oomCounter) take() (group, host bool) {
	if !o.begun {
		return false, false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if n, ok := o.folders.OOMKills(); ok && n > o.group {
		o.group++
		group = true
	}
	if n, ok := cgroup.HostOOMKills(); ok && n > o.host {
		o.host++
		host = true
	}
	return group, host
}
