package launcher

import (
	"fmt"
	"syscall"
	"time"

	"github.com/gorun/gorun/launcher/verdict"
	"github.com/gorun/gorun/launcher/wire"
)

// suspect notes that a host does not answer another. The stream to its agent
// decides whether it is lost.
func (l *launch) suspect(by *host, node int) {
	if node < 0 || node >= len(l.hosts) || l.phase >= stopping || l.hosts[node].suspected || l.hosts[node].ended() {
		return // one host's word is enough
	}
	l.hosts[node].suspected = true
	l.event(Event{Kind: HostSuspected, Host: l.hosts[node].name, Rank: -1, Message: "it does not answer " + by.name})
}

// lose is the verdict on a host whose agent is gone.
func (l *launch) lose(h *host, why error) {
	if l.lease.notice(timeNow()); l.lease.stopped > 0 {
		why = fmt.Errorf("gorun itself was stopped for %v, longer than its agents wait for it (--node-timeout): %w", l.lease.stopped.Round(time.Second), why)
	}
	h.lost = why
	l.replace(h)
	h.conn.Close()
	h.pipes.cut()
	l.stacksTaken(h)
	l.hasPaused(h)
	l.input.taken(h, &wire.InputTaken{Closed: true})
	var ranks []int
	for _, seat := range l.plan.Hosts[h.node].Seats {
		l.exited(h, RankExit{Rank: seat.Rank, Host: h.name, Code: -1, Cause: "lost with its host", At: l.time()})
		ranks = append(ranks, seat.Rank)
		for _, s := range []wire.Stream{wire.Stdout, wire.Stderr} {
			l.printer.add(printItem{from: h, end: &wire.OutputEnd{Rank: seat.Rank, Stream: s}})
		}
	}
	l.event(Event{Kind: HostLost, Host: h.name, Rank: -1, Message: oneLine(why.Error())})
	l.report(h.name, why.Error(), ranks...)
	l.proceed()
	l.introduce()
	if l.verdict.Take(verdict.Loss{Why: &HostError{Host: h.name, Step: "run", Err: why, Hint: exhaustionHint(why)}}) {
		l.stop(syscall.SIGTERM, l.job.Limits.grace())
	}
	if l.ranks.alive == 0 {
		l.allExited()
	}
	l.compare()
}
