package launcher

import (
	"context"
	"syscall"
	"time"

	"github.com/gorun/gorun/launcher/verdict"
)

// Ranks may be gone while what they have printed is not: a reader that stalls
// holds it up, and with it the agents, which send the rest before they say that
// they are done. How long that lasts is the user's affair, until the job has to
// end: at its time limit, or with the caller's context.

// outputPatience is how long output may take after the ranks had to be gone.
const outputPatience = 5 * time.Second

// unread is the end of the patience with output that nobody reads.
type unread struct {
	alarm
	why error // what has ended the job
}

// limitOutput bounds the time for output from now on.
func (l *launch) limitOutput(why error) {
	l.unread.why = why
	l.unread.set(l.job.Limits.grace() + outputPatience)
}

// dropOutput gives up output that nobody has read.
func (l *launch) dropOutput() {
	l.unread.clear()
	l.event(Event{Kind: Warning, Rank: -1, Message: "output that nobody reads is dropped, since the job has to end"})
	l.abandonOutput()
	l.verdict.Take(verdict.OutputLost{Why: l.unread.why})
}

// awaitOutput blocks until everything that ranks have printed is written, or
// nobody is to wait for it any more.
func (l *launch) awaitOutput(ctx context.Context) {
	go func() {
		for _, h := range l.hosts {
			h.pipes.wait()
		}
		l.printer.close()
	}()
	done := ctx.Done()
	if l.unread.why != nil {
		done = nil
		l.unread.set(outputPatience)
	}
	for written := false; !written; {
		select {
		case <-l.printer.done:
			written = true
		case s := <-l.job.Signals:
			if ends(s) { // the ranks are gone, but nobody takes their output
				l.abandonOutput()
				l.verdict.Take(verdict.OutputLost{Why: &SignalError{signalNameOf(s)}})
			}
			if s == syscall.SIGTSTP {
				stopProcess()
			}
		case <-l.limit.C:
			l.unread.why = ErrTimeout
			l.unread.set(outputPatience)
		case <-done:
			done = nil
			l.unread.why = context.Cause(ctx)
			l.unread.set(outputPatience)
		case <-l.unread.C:
			l.dropOutput()
		}
	}
	select {
	case err := <-l.writeError:
		l.writeFailed(err)
	default:
	}
}
