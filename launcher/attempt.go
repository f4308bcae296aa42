package launcher

import (
	"context"
	"errors"
	"syscall"
)

// phase is how far an attempt at a job has come. What a phase needs is in a value
// that the one before it makes, and none comes again:
//
//	phase     value   what happens                  goes on to, when
//	────────  ──────  ────────────────────────────  ────────────────────────────────────────
//	reaching  lineup  agents are started and given  placing: all hosts have said hello, or
//	                  their files, hosts examined            spares in the place of others
//	                                                ended: too few have; a signal; the limit
//	placing   layout  ranks get seats, hosts        starting: all have
//	                  addresses                     ended: they do not fit; a signal; the limit
//	starting  launch  agents are told who is where  running: all are
//	                                                ended: they cannot be
//	running   launch  ranks run, output flows       stopping: the verdict says so, or the last
//	                                                          rank has ended
//	stopping  launch  agents send TERM and, after   killing: the user asks again
//	                  the grace, KILL               ended: every agent is done, or lost
//	killing   launch  agents send KILL              ended: likewise
//	ended             agents are let go, and what   the next attempt, or the job's result
//	                  lost ones have left is swept
//
// Hosts join each other and ranks start at their own pace, so that these are
// states of theirs and not of the attempt:
//
//	host  told ─▶ ready: its member can be met ─▶ done, or lost at any time
//	rank  told ─▶ started ─▶ joined, if it ever meets the others ─▶ exited
//
// A pause (pause.go) may come between starting and the end, the collection of
// stack traces (stacks.go) before stopping; each has a value of its own.
type phase int

const (
	reaching phase = iota
	placing
	starting
	running
	stopping
	killing
	ended
)

// attempt is what all phases of an attempt at a job know.
type attempt struct {
	*prepared
	number int // from 0

	phase    phase         // owned by Run's goroutine
	replaced []replacement // by spares, for the next attempt
}

// enter goes on to a phase, unless the attempt is past it.
func (a *attempt) enter(p phase) { a.phase = max(a.phase, p) }

// run takes the attempt to its end.
func (a *attempt) run(ctx context.Context, result *Result) error {
	result.First, result.Ranks = nil, nil
	where, err := a.layOut(ctx)
	if err != nil {
		return err
	}
	l, err := open(where)
	if err != nil {
		closeAll(where.hosts)
		return err
	}
	defer l.screen.release()
	if err = l.tell(); err == nil {
		err = l.supervise(ctx)
	} else {
		l.abandonOutput()
	}
	a.enter(ended)
	l.finish(result)
	l.printer.close()
	if exit, ok := errors.AsType[*ExitError](err); ok {
		result.First = &exit.RankExit
	}
	return err
}

// layOut starts the agents, places the ranks and lets go of hosts that got
// none. On error nothing is left running.
func (a *attempt) layOut(ctx context.Context) (*layout, error) {
	ctx, cancel := a.untilDeadline(ctx)
	defer cancel()
	reached := &lineup{attempt: a, hosts: a.lineUp()}
	if err := a.warn(a.warnings); err != nil { // before a host that they are about fails
		return nil, err
	}
	if err := a.unlessSignalled(ctx, reached.reach); err != nil {
		return nil, err
	}
	a.enter(placing)
	where, err := reached.place()
	if err != nil {
		closeAll(reached.hosts)
		return nil, err
	}
	if err = where.checkPipes(); err == nil {
		err = a.unlessSignalled(ctx, where.settleNetwork)
	}
	if err != nil {
		closeAll(where.hosts)
		return nil, err
	}
	return where, nil
}

// unlessSignalled calls f, whose context a signal ends that ends jobs.
func (a *attempt) unlessSignalled(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	done := make(chan error, 1)
	go func() { done <- f(ctx) }()
	for {
		select {
		case err := <-done:
			return err
		case s := <-a.job.Signals:
			// There is no rank yet that QUIT could be meant for.
			if ends(s) || s == syscall.SIGQUIT {
				cancel(&SignalError{signalNameOf(s)})
			}
			if s == syscall.SIGTSTP {
				stopProcess()
			}
		}
	}
}
