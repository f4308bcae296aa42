//go:build linux

package agent

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"
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
		if r.alive && r.pid > 0 && r.dying.IsZero() && exiting(r.pid) {
			r.dying = now
		}
	}
}

// exiting reports whether a process has begun to end, as a zombie has too.
func exiting(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	// proc_pid_stat(5): the name in parentheses may have anything in it; flags
	// are the seventh field behind it.
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(fields) < 7 {
		return false
	}
	flags, err := strconv.ParseUint(string(fields[6]), 10, 32)
	return err == nil && flags&flagExiting != 0
}

// flagExiting is PF_EXITING of the kernel's include/linux/sched.h.
const flagExiting = 0x4
