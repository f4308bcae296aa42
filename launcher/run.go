package launcher

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/gorun/gorun/launcher/placement"
	"github.com/gorun/gorun/launcher/remote"
	"github.com/gorun/gorun/launcher/wire"
)

// A job goes through these in order: prepare (prepare.go) refuses what can be
// refused without a host. Then comes an attempt, and after a failure perhaps
// another (attempts.go): reach starts agents and seats the ranks on what the
// hosts turned out to be, start tells the agents, supervise (supervise.go)
// blocks until everything has ended, and finish (cleanup.go) lets the agents go.

// Run blocks until the job has ended and nothing of it is left, or until what
// is left was named in a warning. The end of ctx is TERM to every rank, grace,
// KILL.
//
// The Result is never nil. The error is nil if all ranks ended with 0, else a
// *PlanError, *HostError, *StartError, *ExitError, *JoinError, *SignalError,
// ErrTimeout, which may be in an *UnreachedError, or ctx's cause.
func Run(ctx context.Context, job *Job) (*Result, error) {
	p, err := prepare(job)
	result := &Result{Job: p.id}
	if err == nil {
		err = p.run(ctx, result)
	}
	result.Elapsed, result.Status = time.Since(p.began), ExitStatus(err)
	p.event(Event{Kind: Ended, Attempt: result.Restarts, Rank: -1, Message: fmt.Sprintf("after %v with status %d", result.Elapsed.Round(time.Millisecond), result.Status)})
	return result, err
}

// Plan reaches hosts and places, but starts no rank. Its errors are Run's.
func Plan(ctx context.Context, job *Job) (*placement.Plan, error) {
	p, err := prepare(job)
	if err != nil {
		return nil, err
	}
	defer p.reacher.close()
	l := &launch{prepared: p}
	if err := l.reach(ctx); err != nil {
		return nil, err
	}
	l.closeHosts()
	return l.plan, nil
}

// launch is one attempt at a job.
type launch struct {
	*prepared
	attempt int // from 0

	plan    *placement.Plan // nil until the ranks are placed
	hosts   []*host         // by node; before placing, as lined up
	network network

	mail    *mailbox
	printer *printer
	input   *input  // nil: nobody reads
	screen  *screen // nil: no rank is to have the user's terminal, or there is none

	state
}

// run takes the attempt to its end.
func (l *launch) run(ctx context.Context, result *Result) error {
	result.First, result.Ranks = nil, nil
	if err := l.reach(ctx); err != nil {
		return err
	}
	if err := l.begin(); err != nil {
		return err
	}
	defer l.screen.release()
	err := l.start()
	if err == nil {
		err = l.supervise(ctx)
	} else {
		l.abandonOutput()
	}
	l.finish(result)
	l.printer.close()
	if exit, ok := errors.AsType[*ExitError](err); ok {
		result.First = &exit.RankExit
	}
	return err
}

// reach starts the agents, places the ranks and lets go of hosts that got
// none. On error nothing is left running.
func (l *launch) reach(ctx context.Context) (err error) {
	ctx, cancel := l.untilDeadline(ctx)
	defer cancel()
	l.hosts = l.lineUp()
	if err := l.warn(l.warnings); err != nil { // before a host that they are about fails
		return err
	}
	if err := l.unlessSignalled(ctx, l.reachHosts); err != nil {
		return err
	}
	if err := l.place(); err != nil {
		l.closeHosts()
		return err
	}
	if problems := append(l.job.Streams.check(l.plan.Size), l.job.Wrap.check(l.plan.Size)...); len(problems) > 0 {
		l.closeHosts()
		return &PlanError{problems}
	}
	l.ranks = l.plan.Size
	var seated []*host
	for node, a := range l.plan.Hosts {
		h := l.hosts[a.Index]
		h.node = node
		seated = append(seated, h)
		l.hosts[a.Index] = nil
	}
	closeAll(slices.DeleteFunc(l.hosts, func(h *host) bool { return h == nil }))
	l.hosts = seated
	if err = l.checkPipes(); err == nil {
		err = l.unlessSignalled(ctx, l.settleNetwork)
	}
	if err != nil {
		l.closeHosts()
	}
	return err
}

// place seats the ranks on the hosts that were reached.
func (l *launch) place() (err error) {
	if l.policy.GPUsPerRank != placement.NoGPUs {
		if problems := checkGPUs(l.hosts); len(problems) > 0 {
			return &PlanError{problems}
		}
	}
	seats := seats(l.hosts)
	l.alone = placement.Alone(seats[0], l.policy)
	if l.plan, err = placement.Place(l.size(), seats, l.policy); err != nil {
		return &PlanError{[]error{err}}
	}
	notes := slices.Clone(l.plan.Notes)
	if l.policy.GPUsPerRank != placement.NoGPUs {
		notes = append(notes, shortOfGPUs(l.hosts)...)
	}
	return l.warn(notes)
}

// unlessSignalled calls f, whose context a signal ends that ends jobs.
func (l *launch) unlessSignalled(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	done := make(chan error, 1)
	go func() { done <- f(ctx) }()
	for {
		select {
		case err := <-done:
			return err
		case s := <-l.job.Signals:
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

// begin prepares to hear from the agents.
func (l *launch) begin() error {
	files, err := createFiles(&l.job.Streams, l.plan.Size, l.attempt > 0)
	if err != nil {
		l.closeHosts()
		return err
	}
	l.state = newState(l.plan.Size)
	l.verdict.Continue = l.job.Continue
	if len(l.job.Streams.PTY) > 0 {
		l.screen = newScreen(l.job.Streams.Stdin)
	}
	l.printer = newPrinter(l.merging(), &l.job.Streams, files, l.outputEnded, l.outputFailed)
	for _, h := range l.hosts {
		h.window = hostWindow(len(l.hosts))
		h.heard.Store(l.elapsed())
		if local, ok := h.stream.(*remote.Local); ok && local.Socket() != nil {
			h.pipes = newLocalPipes(local.Socket(), l.printer, l.time,
				func(rank int, s wire.Stream) error { return l.owns(h, rank, s) },
				func(err error) { l.mail.post(letter{from: h, err: err}, 0) })
		}
		h.reading.Go(func() { l.read(h) })
	}
	return nil
}

// start tells every agent its share of the job.
func (l *launch) start() error {
	l.event(Event{Kind: Placed, Rank: -1, Plan: l.plan, Message: plural(l.plan.Size, "rank") + " on " + plural(len(l.hosts), "host")})
	start, err := wire.Share(l.share())
	if err != nil {
		return &PlanError{[]error{err}}
	}
	l.beaten = timeNow()
	for _, h := range l.hosts {
		l.heartbeat(h)           // before its ranks can end: their ends are told by its clock
		h.conn.SendShared(start) // an error means that the host is lost, which its reader sees
		h.conn.Send(l.begins(h))
	}
	return l.connectInput()
}

// share returns what all agents are told.
func (l *launch) share() *wire.Start {
	key := make([]byte, 32)
	rand.Read(key)
	m := &wire.Start{
		Job: l.id, Attempt: l.attempt, Restarts: l.job.Restarts, Path: os.Getenv("GORUN_JOB_PATH"), Key: key,
		Strict: l.job.Strict, Apps: l.apps(), Env: l.env, Unset: l.job.Env.Unset, Rlimits: rlimits(l.job.Rlimits),
		Stdin: l.readers(), PTY: l.job.Streams.PTY, Screen: l.screen.size(), Merge: l.job.Streams.Merge,
		Timeout: int64(l.job.Limits.node()), Grace: int64(l.job.Limits.grace()),
		Window: hostWindow(len(l.hosts)),
		Master: l.network.master, CommID: l.network.commID, HNP: l.network.hnp, Ports: l.network.ports,
	}
	if l.job.Env.Export != "none" {
		m.PathEnv = os.Getenv("PATH")
	}
	for _, c := range l.compat {
		m.Compat = append(m.Compat, string(c))
	}
	for node, a := range l.plan.Hosts {
		c := l.network.choices[node]
		h := wire.Host{Name: l.hosts[node].name, Addr: c.addrs[0].String(), Iface: c.iface}
		for _, s := range a.Seats {
			h.Ranks = append(h.Ranks, s.Rank)
		}
		m.Hosts = append(m.Hosts, h)
	}
	return m
}

// begins returns what one host's agent is told of its own.
func (l *launch) begins(h *host) *wire.Begin {
	a := l.plan.Hosts[h.node]
	return &wire.Begin{Node: h.node, Seats: wireSeats(a.Seats), NICs: a.NICs, Pipes: h.pipes != nil}
}

// event tells the caller of what happened in this attempt.
func (l *launch) event(e Event) {
	e.Attempt = l.attempt
	l.prepared.event(e)
}

// event tells the caller. Events come one at a time: reaching hosts holds a
// lock, and everything after is one goroutine's.
func (p *prepared) event(e Event) {
	if p.job.Events != nil {
		e.Time = p.time()
		p.job.Events(e)
	}
}

// plural returns "1 host" or "2 hosts".
func plural(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprint(n, " ", what)
}
