package launcher

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"
)

// run makes attempts until one succeeds, or fails in a way that another would
// not change, or Job.Restarts were made. Each is a launch of its own, with new
// agents, a new key and a new cluster; the job's id, its size and its time
// limit stay.
func (p *prepared) run(ctx context.Context, result *Result) error {
	defer p.reacher.close()
	for attempt := 0; ; attempt++ {
		l := &launch{prepared: p, attempt: attempt, mail: newMailbox()}
		err := l.run(ctx, result)
		if attempt == p.job.Restarts || !l.mayRestart(err) || ctx.Err() != nil {
			return err
		}
		result.Restarts++
		l.restarting(err, result.Restarts)
		if err := p.hold(ctx, restartDelay(result.Restarts)); err != nil {
			return err
		}
	}
}

// restarting tells why the attempt is followed by the nth restart, and which
// spares take part in that.
func (l *launch) restarting(why error, n int) {
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
	e.Message = fmt.Sprintf("restart %d of %d: %s", n, l.job.Restarts, cause)
	l.event(e)
	for _, h := range l.hosts {
		if h.heir != "" {
			l.event(Event{Kind: Warning, Host: h.name, Rank: -1, Message: h.heir + " takes its place"})
		}
	}
}

// oneLine joins the lines of a text.
func oneLine(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
}

// mayRestart says whether a failure may not come again: that of a rank or a
// host. A program that is not there and a job that cannot be placed stay so,
// and what the user or a time limit has ended is to end. A host that could not
// be reached in the first place was tried for long enough, and is more likely
// a mistyped name.
func (l *launch) mayRestart(err error) bool {
	var host *HostError
	switch {
	case errors.As(err, new(*ExitError)), errors.As(err, new(*JoinError)):
		return true
	case errors.As(err, &host):
		return l.attempt > 0 || l.plan != nil
	}
	return false
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
