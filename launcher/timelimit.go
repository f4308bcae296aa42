package launcher

import (
	"context"
	"fmt"
	"syscall"
	"time"

	"github.com/gorun/gorun/launcher/verdict"
)

// minNode is the shortest Limits.Node: a healthy host is as silent on a busy
// network, and the beats of a lease take their share of the time.
const minNode = 100 * time.Millisecond

// checkLimits refuses limits that cannot be kept or contradict each other.
func checkLimits(l Limits) error {
	switch {
	case l.Node > 0 && l.Node < minNode:
		return fmt.Errorf("--node-timeout: expected at least %v, found %v", minNode, l.Node)
	case l.Early == EarlySignal{}:
		return nil
	case l.Run <= 0:
		return fmt.Errorf("--signal: expected --timeout beside it, before whose end to send %s", signalName(int(l.Early.Signal)))
	case l.Early.Before <= 0 || l.Early.Before >= l.Run:
		return fmt.Errorf("--signal: expected less than the %v of --timeout, found %v", l.Run, l.Early.Before)
	}
	return nil
}

// untilDeadline returns a context that ends with the job's time limit.
func (p *prepared) untilDeadline(ctx context.Context) (context.Context, context.CancelFunc) {
	if p.deadline.IsZero() {
		return context.WithCancel(ctx)
	}
	return context.WithDeadlineCause(ctx, p.deadline, ErrTimeout)
}

// setTimers sets what tells that the time limit is over, and that ranks are to
// be signalled before. An attempt that begins after that moment gets no early
// signal: its ranks may not be ready for one, and it would kill them.
func (l *launch) setTimers() {
	if l.deadline.IsZero() {
		return
	}
	if e := l.job.Limits.Early; e.Signal != 0 {
		if left := time.Until(l.deadline) - e.Before; left > 0 {
			l.early.set(left)
		}
	}
	l.limit.set(time.Until(l.deadline))
}

// timeIsUp ends the job at its time limit. That is the reason from now on: ranks
// may end of the stack traces that come before the stop.
func (l *launch) timeIsUp() {
	l.verdict.Take(verdict.End{Why: ErrTimeout})
	l.afterStacks(true, func() {
		l.end(ErrTimeout, syscall.SIGTERM)
		l.limitOutput(ErrTimeout)
	})
}

// signalEarly sends the signal that announces the time limit, once: a pause that
// ends later puts nothing off any more.
func (l *launch) signalEarly() {
	l.early.clear()
	e := l.job.Limits.Early
	l.forward(e.Signal, fmt.Sprintf(", %v before the time limit", e.Before))
}
