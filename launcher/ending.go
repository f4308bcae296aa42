package launcher

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"github.com/gorun/gorun/launcher/verdict"
	"github.com/gorun/gorun/launcher/wire"
	"github.com/gorun/gorun/rendezvous"
)

// report tells the ranks that others are lost.
func (l *launch) report(host, cause string, ranks ...int) {
	for _, h := range l.hosts {
		if !h.ended() {
			h.conn.Send(&wire.Report{Kind: string(rendezvous.Lost), Host: host, Cause: cause, Ranks: ranks, Clock: l.time().UnixNano()})
		}
	}
}

// suspect notes that a host does not answer another. The stream to its agent
// decides whether it is lost.
func (l *launch) suspect(by *host, node int) {
	if node < 0 || node >= len(l.hosts) || l.stopping || l.hosts[node].suspected || l.hosts[node].ended() {
		return // one host's word is enough
	}
	l.hosts[node].suspected = true
	l.event(Event{Kind: HostSuspected, Host: l.hosts[node].name, Rank: -1, Message: "it does not answer " + by.name})
}

// lose is the verdict on a host whose agent is gone.
func (l *launch) lose(h *host, why error) {
	if l.noticePause(timeNow()); l.stopped > 0 {
		why = fmt.Errorf("gorun itself was stopped for %v, longer than its agents wait for it (--node-timeout)", l.stopped.Round(time.Second))
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
	l.introduce()
	if l.verdict.Take(verdict.Loss{Why: &HostError{Host: h.name, Step: "run", Err: why}}) {
		l.stop(syscall.SIGTERM, l.job.Limits.grace())
	}
	if l.running == 0 {
		l.allExited()
	}
}

// end ends the job for a reason that is not a rank's failure, unless it ends
// already.
func (l *launch) end(reason error, s syscall.Signal) {
	if l.stopping {
		return
	}
	l.verdict.Take(verdict.End{Why: reason})
	l.stop(s, l.job.Limits.grace())
}

// stop tells all agents to end their ranks. Again, it brings the KILL nearer.
func (l *launch) stop(s syscall.Signal, grace time.Duration) {
	if l.stopping && !l.sooner {
		return
	}
	if !l.stopping && l.running > 0 {
		l.event(Event{Kind: Stopping, Rank: -1})
	}
	l.resume() // what stands still cannot end by itself
	l.stopping = true
	for _, h := range l.hosts {
		if !h.ended() {
			h.conn.Send(&wire.Stop{Signal: int(s), Grace: int64(grace)})
		}
	}
}

// signalled acts on a signal to the launcher.
func (l *launch) signalled(s os.Signal) {
	n, ok := s.(syscall.Signal)
	switch {
	case !ok:
	case ends(s) && !l.stopping:
		l.end(&SignalError{signalNameOf(s)}, n)
	case ends(s): // who asks twice means it
		l.sooner = true
		l.stop(syscall.SIGKILL, 0)
		l.abandonOutput()
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
	l.event(Event{Kind: Signalled, Rank: -1, Message: signalName(int(s)) + " to all ranks" + when})
	for _, h := range l.hosts {
		if !h.ended() {
			h.conn.Send(&wire.Signal{Signal: int(s)})
		}
	}
}

// writeFailed ends a job whose output nobody takes any more. A closed pipe is
// how a reader says that it has seen enough; a closed terminal hangs up, and the
// write may be quicker than the signal. Output that was lost makes a failure
// even of a job that has ended well.
func (l *launch) writeFailed(err error) {
	switch {
	case errors.Is(err, syscall.EPIPE):
		err = &SignalError{"SIGPIPE"}
	case errors.Is(err, syscall.EIO) && (isDevice(l.job.Streams.Stdout) || isDevice(l.job.Streams.Stderr)):
		err = &SignalError{"SIGHUP"} // which is on its way
	default:
		err = fmt.Errorf("write the output of the ranks: %w", err)
	}
	l.verdict.Take(verdict.OutputLost{Why: err})
	l.stop(syscall.SIGTERM, l.job.Limits.grace())
}

// isDevice says whether a writer ends in a character device. When that fails,
// it is a terminal that was closed.
func isDevice(w io.Writer) bool {
	f, ok := w.(interface{ Stat() (os.FileInfo, error) })
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
