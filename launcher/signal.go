package launcher

import (
	"cmp"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/gorun/gorun/launcher/wire"
)

// signalled acts on a signal to the launcher.
func (l *launch) signalled(s os.Signal) {
	n, ok := s.(syscall.Signal)
	switch {
	case !ok:
	case ends(s) && l.phase < stopping:
		l.end(&SignalError{signalNameOf(s)}, n)
	case ends(s): // who asks twice means it
		l.kill()
	case n == syscall.SIGTSTP:
		l.pause()
	case n == syscall.SIGQUIT: // where ranks are is told before they end of it
		l.afterStacks(false, func() { l.forward(n, "") })
	default:
		if n == syscall.SIGWINCH {
			l.resize()
		}
		l.forward(n, "")
	}
}

// forward sends a signal to every rank's process group. The event says when,
// if it was not the user's moment.
func (l *launch) forward(s syscall.Signal, when string) {
	l.forwarded[signalName(int(s))] = cmp.Or(strings.TrimPrefix(when, ", "), "after it was sent to gorun")
	l.event(Event{Kind: Signalled, Rank: -1, Message: signalName(int(s)) + " to all ranks" + when})
	for _, h := range l.hosts {
		if !h.ended() {
			h.conn.Send(&wire.Signal{Signal: int(s)})
		}
	}
}

// passedOn says that a rank ended of a signal that all were sent, and why; ""
// if it did not.
func (l *launch) passedOn(e *RankExit) string {
	why, ok := l.forwarded[e.Signal]
	if !ok {
		return ""
	}
	return "gorun passed it on to all ranks " + why
}

// signalNumber returns the number of the signal called name, 0 for none.
func signalNumber(name string) int { return int(unix.SignalNum(name)) }

// signalName returns "SIGKILL" for 9.
func signalName(n int) string { return unix.SignalName(syscall.Signal(n)) }

// ends says whether a signal to the launcher ends the job.
func ends(s os.Signal) bool {
	return s == syscall.SIGINT || s == syscall.SIGTERM || s == syscall.SIGHUP
}

func signalNameOf(s os.Signal) string {
	n, _ := s.(syscall.Signal)
	return signalName(int(n))
}
