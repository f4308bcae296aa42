package launcher

import (
	"cmp"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/gorun/gorun/launcher/cause"
	"github.com/gorun/gorun/launcher/verdict"
	"github.com/gorun/gorun/launcher/wire"
)

// ranks is how the ranks of an attempt have ended.
type ranks struct {
	exits []*RankExit    // by rank; nil: it runs
	alive int            // that run
	ooms  map[int]string // what the kernel tells of lack of memory at a rank's end
}

func newRanks(size int) ranks {
	return ranks{exits: make([]*RankExit, size), alive: size, ooms: map[int]string{}}
}

// notStarted ends a job one of whose programs did not start: because of the
// program, or because its host had nothing left to start it with.
func (l *launch) notStarted(h *host, m *wire.NotStarted) {
	var err error = &StartError{
		Host: h.name, Rank: m.Rank, Program: m.Path, Part: m.Part, Missing: m.Missing, Err: errors.New(m.Error), Hint: m.Hint,
	}
	if m.Exhausted {
		l.replace(h)
		err = &HostError{Host: h.name, Step: "start", Err: fmt.Errorf("rank %d: %s", m.Rank, m.Error), Hint: m.Hint}
	}
	l.exited(h, RankExit{Rank: m.Rank, Host: h.name, Code: ExitStatus(err), Cause: m.Error, At: l.time()})
	l.end(err, syscall.SIGTERM)
}

// rankExited records how a rank ended. The first failure ends the job, unless
// it is to continue.
func (l *launch) rankExited(h *host, m *wire.Exited) {
	h.mu.Lock()
	at, unsure := l.began.Add(time.Duration(h.clock.ours(m.Clock))), h.clock.unsure
	h.mu.Unlock()
	e := RankExit{Rank: m.Rank, Host: h.name, Code: m.Code, At: at, Stopped: m.Told}
	if now := l.time(); at.After(now) {
		e.At = now // it was before we heard of it, as far as the clocks tell
	}
	if m.Signal != 0 {
		e.Signal = signalName(m.Signal)
	}
	l.ranks.ooms[e.Rank] = cause.OutOfMemory(e.Signal, m.OOM, m.HostOOM)
	e.Cause = cmp.Or(l.passedOn(&e), likely(&e, l.ranks.ooms[e.Rank]), pmiCause(m))
	if !l.exited(h, e) {
		return
	}
	fact := verdict.Exit{
		Rank: e.Rank, Node: h.node, Code: e.Code, Aborted: m.Aborted, Stopped: e.Stopped,
		Clock: time.Duration(m.Clock), At: at, Unsure: unsure,
	}
	stop := l.verdict.Take(fact)
	if fact.Failed() {
		l.report(h.name, e.String(), e.Rank)
	}
	l.proceed()
	switch {
	case stop:
		l.stop(syscall.SIGTERM, l.job.Limits.grace())
	case l.ranks.alive == 0:
		l.allExited()
	case !fact.Failed() && !l.joining.joined[e.Rank] && l.phase < stopping:
		l.rankStrayed(e.Rank)
	}
}

// pmiCause says what PMI has to do with an end; "" if nothing.
func pmiCause(m *wire.Exited) string {
	switch {
	case m.Aborted:
		return "PMI abort"
	case m.Unfinalized:
		return "it left with status 0 before MPI_Finalize"
	}
	return ""
}

// allExited ends what ranks have left behind.
func (l *launch) allExited() {
	l.verdict.Take(verdict.AllEnded{})
	l.stop(syscall.SIGTERM, 0)
}

// exited notes a rank's end; false if that is no news.
func (l *launch) exited(h *host, e RankExit) bool {
	if l.ranks.exits[e.Rank] != nil {
		return false
	}
	l.ranks.exits[e.Rank] = &e
	l.ranks.alive--
	if e.Rank == l.screenRank() {
		time.AfterFunc(screenPatience, func() { l.screen.release() })
	}
	l.event(Event{Kind: RankExited, Host: h.name, Rank: e.Rank, Message: e.String(), Exit: &e})
	return true
}

// explain adds to the ranks' ends what all their output tells of them.
func (l *launch) explain() {
	for rank, e := range l.ranks.exits {
		if e == nil || e.Code < 0 && e.Signal == "" {
			continue // lost with its host, which is the cause
		}
		e.Tail = l.printer.tail(rank)
		e.Cause = cmp.Or(l.passedOn(e), likely(e, l.ranks.ooms[rank]), e.Cause)
		if e.Signal == "" {
			continue
		}
		if step := cause.OfStep(l.hosts[l.plan.Seat(rank).Node].stderr.String()); step != "" {
			e.Cause = step
		}
	}
}

// likely is the probable cause of an end, with what the kernel told.
func likely(e *RankExit, oom string) string {
	return cause.Likely(cause.End{Code: e.Code, Signal: e.Signal, Stopped: e.Stopped, OOM: oom, Tail: e.Tail})
}
