package launcher

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/gorun/gorun/launcher/verdict"
	"github.com/gorun/gorun/launcher/wire"
)

// state is what the supervising goroutine knows of a running job.
type state struct {
	exits    []*RankExit // by rank; nil: it runs
	running  int
	verdict  verdict.Verdict
	stopping bool
	sooner   bool // the user insisted: KILL without grace

	introduced bool // the hosts' members were told of each other

	joining
	pausing
	stacks
	limit, early alarm // see setTimers
	unread       unread

	beaten  time.Time     // the last round of heartbeats
	stopped time.Duration // how long this process did not run before it; 0: it did

	ooms    map[int]string  // what the kernel tells of lack of memory at a rank's end
	noticed map[string]bool // what agents wanted the user to know

	writeError chan error // a writer's first error
}

func newState(size int) state {
	return state{
		exits: make([]*RankExit, size), running: size,
		joining: joining{joined: map[int]bool{}},
		ooms:    map[int]string{}, noticed: map[string]bool{}, writeError: make(chan error, 2),
	}
}

// supervise blocks until nothing of the job is left on any host that still
// answers, and returns why the job failed.
func (l *launch) supervise(ctx context.Context) error {
	l.setTimers()
	defer l.resume() // whatever else, nothing stays behind stopped
	var lease <-chan time.Time
	if limit := l.job.Limits.node(); limit > 0 {
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
		case <-l.due.C:
			l.initOver()
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
		case <-l.woken:
			l.resume()
		case err := <-l.writeError:
			l.writeFailed(err)
		}
	}
	l.input.close()
	l.awaitOutput(ctx)
	l.explain()
	if rank, ok := l.verdict.First(); ok {
		return &ExitError{*l.exits[rank]}
	}
	return l.verdict.Reason()
}

// explain adds to the ranks' ends what all their output tells of them.
func (l *launch) explain() {
	for rank, e := range l.exits {
		if e == nil || e.Code < 0 && e.Signal == "" {
			continue // lost with its host, which is the cause
		}
		e.Tail = l.printer.tail(rank)
		if cause := likelyCause(*e, l.ooms[rank]); cause != "" {
			e.Cause = cause
		}
		if e.Signal == "" {
			continue
		}
		if cause := stepCause(l.hosts[l.plan.Seat(rank).Node].stderr.String()); cause != "" {
			e.Cause = cause
		}
	}
}

// beat keeps our leases with the agents and looks at theirs with us.
func (l *launch) beat(now time.Time) {
	if !l.pausing.since.IsZero() {
		return
	}
	l.stopped = 0
	l.noticePause(now)
	l.beaten = now
	for _, h := range l.hosts {
		if h.ended() {
			continue
		}
		if silence := now.Sub(l.began) - time.Duration(h.heard.Load()); silence > l.job.Limits.node() && l.stopped == 0 {
			l.lose(h, fmt.Errorf("nothing was heard from its agent for %v", silence.Round(time.Second)))
			continue
		}
		l.heartbeat(h)
	}
}

// heartbeat keeps one lease, and asks for the host's clock.
func (l *launch) heartbeat(h *host) { h.conn.Send(&wire.Heartbeat{Clock: l.elapsed()}) }

// noticePause finds out whether this process itself was stopped for so long
// that its agents gave it up.
func (l *launch) noticePause(now time.Time) {
	limit := l.job.Limits.node()
	if gap := now.Sub(l.beaten); limit > 0 && !l.beaten.IsZero() && gap > limit {
		l.stopped = gap
	}
}

func (l *launch) allEnded() bool {
	for _, h := range l.hosts {
		if !h.ended() {
			return false
		}
	}
	return true
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
	case *wire.Started:
		l.event(Event{Kind: RankStarted, Host: h.name, Rank: m.Rank, Message: fmt.Sprintf("process %d", m.PID)})
	case *wire.NotStarted:
		l.notStarted(h, m)
	case *wire.Joined:
		l.rankJoined(h, m.Rank)
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

// maxNotices is how many different things hosts may want the user to know. More
// are one thing that is said in many ways, by a number in it or an address.
const maxNotices = 256

// notice tells the user what an agent wants known. One host's word is enough.
func (l *launch) notice(h *host, text string) {
	if l.noticed[text] || len(l.noticed) > maxNotices {
		return
	}
	l.noticed[text] = true
	if len(l.noticed) > maxNotices {
		text = "it and others have more to say, which is left out"
	}
	l.event(Event{Kind: Warning, Host: h.name, Rank: -1, Message: text})
}

// introduce tells the members of all hosts where the others are, as soon as
// that is known of all but those that were lost before they could say it.
func (l *launch) introduce() {
	var all []string
	for _, h := range l.hosts {
		if h.lost != nil {
			continue
		}
		if !h.ready {
			return
		}
		if h.gossip != "" {
			all = append(all, h.gossip)
		}
	}
	if l.introduced || len(all) < 2 {
		return
	}
	l.introduced = true
	meet, err := wire.Share(&wire.Meet{Gossip: all})
	if err != nil {
		l.event(Event{Kind: Warning, Rank: -1, Message: fmt.Sprintf("the hosts cannot be told of each other: %v", err)})
		return
	}
	for _, h := range l.hosts {
		h.conn.SendShared(meet)
	}
}

// notStarted ends a job one of whose programs did not start: because of the
// program, or because its host had nothing left to start it with.
func (l *launch) notStarted(h *host, m *wire.NotStarted) {
	var err error = &StartError{
		Host: h.name, Rank: m.Rank, Program: m.Path, Missing: m.Missing, Err: errors.New(m.Error), Hint: m.Hint,
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
	if m.Signal != 0 {
		e.Signal = signalName(m.Signal)
	}
	l.ooms[e.Rank] = oomCause(e.Signal, m.OOM, m.HostOOM)
	e.Cause = likelyCause(e, l.ooms[e.Rank])
	if !l.exited(h, e) {
		return
	}
	fact := verdict.Exit{Rank: e.Rank, Node: h.node, Code: e.Code, Stopped: e.Stopped, At: at, Unsure: unsure}
	stop := l.verdict.Take(fact)
	if fact.Failed() {
		l.report(h.name, e.String(), e.Rank)
	}
	switch {
	case stop:
		l.stop(syscall.SIGTERM, l.job.Limits.grace())
	case l.running == 0:
		l.allExited()
	case !fact.Failed() && !l.joined[e.Rank] && !l.stopping:
		l.rankStrayed(e.Rank)
	}
}

// allExited ends what ranks have left behind.
func (l *launch) allExited() {
	l.verdict.Take(verdict.AllEnded{})
	l.stop(syscall.SIGTERM, 0)
}

// exited notes a rank's end; false if that is no news.
func (l *launch) exited(h *host, e RankExit) bool {
	if l.exits[e.Rank] != nil {
		return false
	}
	l.exits[e.Rank] = &e
	l.running--
	if e.Rank == l.screenRank() {
		time.AfterFunc(screenPatience, func() { l.screen.release() })
	}
	l.event(Event{Kind: RankExited, Host: h.name, Rank: e.Rank, Message: e.String(), Exit: &e})
	return true
}
