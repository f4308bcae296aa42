package launcher

import (
	"context"
	"fmt"
	"syscall"
	"time"

	"github.com/gorun/gorun/launcher/wire"
)

// supervise blocks until nothing of the job is left on any host that still
// answers, and returns why the job failed.
func (l *launch) supervise(ctx context.Context) error {
	l.enter(running)
	l.setTimers()
	l.setAuditLimit()
	defer l.resume() // whatever else, nothing stays behind stopped
	var lease <-chan time.Time
	if limit := l.lease.limit; limit > 0 {
		ticker := time.NewTicker(limit / wire.Beats)
		defer ticker.Stop()
		lease = ticker.C
	}
	done := ctx.Done()
	for !l.allEnded() {
		select {
		case <-l.mail.ready:
			for _, m := range l.mail.take() {
				l.handle(m)
			}
		case s := <-l.job.Signals:
			l.signalled(s)
		case <-l.early.C:
			l.signalEarly()
		case <-l.limit.C:
			l.timeIsUp()
		case <-l.notices.due.C:
			l.tellNotices()
		case <-l.lingering.C:
			l.tellLingering()
		case <-l.joining.due.C:
			l.initOver()
		case <-l.audit.due.C:
			l.auditOver()
		case <-done:
			done = nil
			l.end(context.Cause(ctx), syscall.SIGTERM)
			l.limitOutput(context.Cause(ctx))
		case <-l.unread.C:
			l.dropOutput()
		case now := <-lease:
			l.beat(now)
		case <-l.stacks.patience:
			l.stacksOver()
		case <-l.pausing.patience:
			l.rest()
		case <-l.pausing.woken:
			l.resume()
		case err := <-l.writeError:
			l.writeFailed(err)
		}
	}
	l.tellNotices()
	l.input.close()
	l.awaitOutput(ctx)
	l.explain()
	if rank, ok := l.verdict.First(); ok {
		return &ExitError{*l.ranks.exits[rank]}
	}
	return l.verdict.Reason()
}

// handle acts on what an agent sent.
func (l *launch) handle(m letter) {
	h := m.from
	switch {
	case h.lost != nil:
		return // the verdict stands, whatever was still on its way
	case m.message == nil:
		if !h.done {
			l.lose(h, streamError(h, m.err))
		}
		return
	}
	switch m := m.message.(type) {
	case *wire.Ready:
		h.ready, h.gossip = true, m.Gossip
		l.introduce()
	case *wire.Facts:
		l.audited(h, m)
	case *wire.Started:
		l.event(Event{Kind: RankStarted, Host: h.name, Rank: m.Rank, Message: fmt.Sprintf("process %d", m.PID)})
	case *wire.NotStarted:
		l.notStarted(h, m)
	case *wire.Joined:
		l.rankJoined(h, m.Rank)
	case *wire.Asked:
		l.rankAsked(h, m)
	case *wire.Exited:
		l.rankExited(h, m)
	case *wire.Stack:
		l.stack(h, m)
	case *wire.StacksTaken:
		l.stacksTaken(h)
	case *wire.Paused:
		l.hasPaused(h)
	case *wire.InputTaken:
		l.input.taken(h, m)
	case *wire.Notice:
		l.notice(h, m.Text)
	case *wire.Suspected:
		l.suspect(h, m.Node)
	case *wire.Done:
		h.done = true
		if len(m.Left) > 0 {
			h.pipes.cut() // what is left may hold them open for ever
			l.event(Event{Kind: Warning, Host: h.name, Rank: -1,
				Message: fmt.Sprintf("processes %v could not be killed and are left there", m.Left)})
		}
	default:
		l.lose(h, fmt.Errorf("its agent sent an unexpected %T", m))
	}
}
