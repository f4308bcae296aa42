package launcher

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"
)

// mayRestart says whether a failure may not come again: that of a rank or a
// host. A program that is not there and a job that cannot be placed stay so,
// and what the user or a time limit has ended is to end. A host that could not
// be reached in the first place was tried for long enough, and is more likely
// a mistyped name.
func (a *attempt) mayRestart(err error) bool {
	var host *HostError
	switch {
	case errors.As(err, new(*ExitError)), errors.As(err, new(*JoinError)):
		return true
	case errors.As(err, &host):
		return a.number > 0 || a.phase > reaching
	}
	return false
}

// restarting tells why the attempt is followed by the nth restart, and which
// spares take part in that.
func (a *attempt) restarting(why error, n int) {
	e := Event{Kind: Restarting, Rank: -1}
	cause := oneLine(why.Error())
	if exit, ok := errors.AsType[*ExitError](why); ok {
		e.Host, e.Rank = exit.Host, exit.Rank
		if exit.Cause != "" {
			cause += " (" + exit.Cause + ")"
		}
	} else if lost, ok := errors.AsType[*HostError](why); ok {
		e.Host = lost.Host
	}
	e.Message = fmt.Sprintf("restart %d of %d: %s", n, a.job.Restarts, cause)
	a.event(e)
	for _, r := range a.replaced {
		a.event(Event{Kind: Warning, Host: r.host, Rank: -1, Message: r.by + " takes its place"})
	}
}

// replacement is a spare that has the place of a host in the next attempt.
type replacement struct{ host, by string }

// replace takes a host out of the roster. A spare has its place in the next
// attempt, if one is left.
func (a *attempt) replace(h *host) {
	if spare := a.roster.drop(h.index); spare >= 0 {
		a.replaced = append(a.replaced, replacement{host: h.name, by: a.roster.all[spare].name})
	}
}

// oneLine joins the lines of a text.
func oneLine(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
}

// restartDelay is how long the nth restart is held up: the first not at all,
// since most failures do not come twice; then a second, doubled each time, for
// what needs time to recover, until half a minute.
func restartDelay(n int) time.Duration {
	if n < 2 {
		return 0
	}
	return min(time.Second<<min(n-2, 5), 30*time.Second)
}

// hold blocks for d. Its error says what has ended the job meanwhile.
func (p *prepared) hold(ctx context.Context, d time.Duration) error {
	ctx, cancel := p.untilDeadline(ctx)
	defer cancel()
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		case s := <-p.job.Signals:
			if ends(s) {
				return &SignalError{signalNameOf(s)}
			}
			if s == syscall.SIGTSTP {
				stopProcess()
			}
		}
	}
}
