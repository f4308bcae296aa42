package launcher

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/gorun/gorun/launcher/remote"
	"github.com/gorun/gorun/launcher/wire"
)

// state is what the supervising goroutine knows of a running job.
type state struct {
	exits    []*RankExit // by rank; nil: it runs
	running  int
	failures []failure // ranks' own, before they were told to end
	reason   error     // why the job ends, if not a rank's failure
	stopping bool
	sooner   bool // the user insisted: KILL without grace

	noticed map[string]bool // what agents wanted the user to know

	writeError chan error // a writer's first error
}

func newState(size int) state {
	return state{
		exits: make([]*RankExit, size), running: size,
		noticed: map[string]bool{}, writeError: make(chan error, 2),
	}
}

// read is the goroutine that receives from one agent. It passes output on and
// leaves decisions to the supervisor. It ends with the stream.
func (l *launch) read(h *host) {
	for {
		m, err := h.conn.Receive()
		if err == nil {
			h.heard.Store(int64(time.Since(l.began)))
			err = l.receive(h, m)
		}
		if err != nil {
			l.mail.post(letter{from: h, err: err})
			return
		}
	}
}

func (l *launch) receive(h *host, m wire.Message) error {
	switch m := m.(type) {
	case *wire.Output:
		if err := l.owns(h, m.Rank, m.Stream); err != nil {
			return err
		}
		l.printer.add(printItem{from: h, output: m})
	case *wire.OutputEnd:
		if err := l.owns(h, m.Rank, m.Stream); err != nil {
			return err
		}
		l.printer.add(printItem{from: h, end: m})
	case *wire.Heartbeat:
		h.conn.Send(&wire.Echo{Sent: m.Clock, Clock: time.Now().UnixNano()})
	case *wire.Echo:
		h.mu.Lock()
		h.clock.observe(time.Unix(0, m.Sent), time.Unix(0, m.Clock), time.Now())
		h.mu.Unlock()
	case *wire.Relay:
		if m.Node < 0 || m.Node >= len(l.hosts) {
			return fmt.Errorf("the agent sent a message for node %d of %d", m.Node, len(l.hosts))
		}
		l.hosts[m.Node].conn.Send(&wire.Relay{Node: h.node, Payload: m.Payload})
	default:
		l.mail.post(letter{from: h, message: m})
	}
	return nil
}

// owns refuses what an agent says about another host's ranks.
func (l *launch) owns(h *host, rank int, s wire.Stream) error {
	if rank < 0 || rank >= l.plan.Size || l.plan.Seat(rank).Node != h.node || s != wire.Stdout && s != wire.Stderr {
		return fmt.Errorf("the agent sent output of rank %d, which is not on its host", rank)
	}
	return nil
}

// outputFailed is told of a writer's error, by the printer's goroutine.
func (l *launch) outputFailed(err error) {
	select {
	case l.writeError <- err:
	default: // one is enough
	}
}

// supervise blocks until nothing of the job is left on any host that still
// answers, and returns why the job failed.
func (l *launch) supervise(ctx context.Context) error {
	var timeout <-chan time.Time
	if !l.deadline.IsZero() {
		timer := time.NewTimer(time.Until(l.deadline))
		defer timer.Stop()
		timeout = timer.C
	}
	var lease <-chan time.Time
	if limit := l.job.Limits.node(); limit > 0 {
		ticker := time.NewTicker(limit / beats)
		defer ticker.Stop()
		lease = ticker.C
		l.beat(time.Now())
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
		case <-timeout:
			l.end(ErrTimeout, syscall.SIGTERM)
		case <-done:
			done = nil
			l.end(context.Cause(ctx), syscall.SIGTERM)
		case now := <-lease:
			l.beat(now)
		case err := <-l.writeError:
			l.writeFailed(err)
		}
	}
	l.input.close()
	l.awaitOutput()
	if l.reason != nil {
		return l.reason
	}
	if first := firstFailure(l.failures); first != nil {
		first.Tail = l.printer.tail(first.Rank)
		return &ExitError{*first}
	}
	return nil
}

// awaitOutput blocks until everything that ranks have printed is written, or
// the user does not want to wait for it.
func (l *launch) awaitOutput() {
	l.printer.close()
	for written := false; !written; {
		select {
		case <-l.printer.done:
			written = true
		case s := <-l.job.Signals:
			if ends(s) { // the ranks are gone, but nobody takes their output
				l.end(&SignalError{signalNameOf(s)}, syscall.SIGKILL)
				l.printer.abandon()
			}
		}
	}
	select {
	case err := <-l.writeError:
		l.writeFailed(err)
	default:
	}
}

// beats is how many heartbeats go into the time after which silence counts.
const beats = 5

// beat keeps our leases with the agents and looks at theirs with us.
func (l *launch) beat(now time.Time) {
	for _, h := range l.hosts {
		if h.ended() {
			continue
		}
		if silence := now.Sub(l.began) - time.Duration(h.heard.Load()); silence > l.job.Limits.node() {
			l.lose(h, fmt.Errorf("nothing was heard from its agent for %v", silence.Round(time.Second)))
			continue
		}
		h.conn.Send(&wire.Heartbeat{Clock: now.UnixNano()})
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
	if m.message == nil {
		if !h.ended() {
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
	case *wire.Exited:
		l.rankExited(h, m)
	case *wire.Stopping:
		h.stopping = true
	case *wire.InputTaken:
		l.input.taken(m)
	case *wire.Notice:
		if l.noticed[m.Text] {
			return // one host's word is enough
		}
		l.noticed[m.Text] = true
		l.event(Event{Kind: Warning, Host: h.name, Rank: -1, Message: m.Text})
	case *wire.Done:
		h.done = true
		if len(m.Left) > 0 {
			l.event(Event{Kind: Warning, Host: h.name, Rank: -1,
				Message: fmt.Sprintf("processes %v could not be killed and are left there", m.Left)})
		}
	default:
		l.lose(h, fmt.Errorf("its agent sent an unexpected %T", m))
	}
}

// introduce tells the members of all hosts where the others are, as soon as
// that is known of all.
func (l *launch) introduce() {
	var all []string
	for _, h := range l.hosts {
		if !h.ready {
			return
		}
		if h.gossip != "" {
			all = append(all, h.gossip)
		}
	}
	if len(all) < 2 {
		return
	}
	for _, h := range l.hosts {
		h.conn.Send(&wire.Meet{Gossip: all})
	}
}

// notStarted ends a job one of whose programs did not start: because of the
// program, or because its host had nothing left to start it with.
func (l *launch) notStarted(h *host, m *wire.NotStarted) {
	var err error = &StartError{
		Host: h.name, Rank: m.Rank, Program: m.Path, Missing: m.Missing, Err: errors.New(m.Error), Hint: m.Hint,
	}
	if m.Exhausted {
		err = &HostError{Host: h.name, Step: "start", Err: fmt.Errorf("rank %d: %s", m.Rank, m.Error), Hint: m.Hint}
	}
	l.exited(h, RankExit{Rank: m.Rank, Host: h.name, Code: ExitStatus(err), Cause: m.Error, At: time.Now()})
	l.end(err, syscall.SIGTERM)
}

// rankExited records how a rank ended. The first failure ends the job.
func (l *launch) rankExited(h *host, m *wire.Exited) {
	h.mu.Lock()
	at, unsure := h.clock.ours(time.Unix(0, m.Clock)), h.clock.unsure
	h.mu.Unlock()
	e := RankExit{Rank: m.Rank, Host: h.name, Code: m.Code, At: at}
	if m.Signal != 0 {
		e.Signal = signalName(m.Signal)
		e.Cause = likelyCause(e.Signal, m.OOM)
	}
	if !l.exited(h, e) {
		return
	}
	switch failed := e.Code != 0; {
	case failed && !m.Told && !h.stopping:
		l.failures = append(l.failures, failure{exit: e, node: h.node, at: at, unsure: unsure})
		l.report(h.name, e.String(), e.Rank)
		l.stop(syscall.SIGTERM, l.job.Limits.grace())
	case l.running == 0:
		l.stop(syscall.SIGTERM, 0) // what ranks have left behind
	}
}

// exited notes a rank's end; false if that is no news.
func (l *launch) exited(h *host, e RankExit) bool {
	if e.Rank < 0 || e.Rank >= len(l.exits) || l.exits[e.Rank] != nil {
		return false
	}
	l.exits[e.Rank] = &e
	l.running--
	l.event(Event{Kind: RankExited, Host: h.name, Rank: e.Rank, Message: e.String(), Exit: &e})
	return true
}

// report tells the ranks that others are lost.
func (l *launch) report(host, cause string, ranks ...int) {
	for _, h := range l.hosts {
		if !h.ended() {
			h.conn.Send(&wire.Report{Kind: "lost", Host: host, Cause: cause, Ranks: ranks, Clock: time.Now().UnixNano()})
		}
	}
}

// lose is the verdict on a host whose agent is gone.
func (l *launch) lose(h *host, why error) {
	h.lost = why
	h.conn.Close()
	var ranks []int
	for _, seat := range l.plan.Hosts[h.node].Seats {
		l.exited(h, RankExit{Rank: seat.Rank, Host: h.name, Code: -1, Cause: "lost with its host", At: time.Now()})
		ranks = append(ranks, seat.Rank)
		for _, s := range []wire.Stream{wire.Stdout, wire.Stderr} {
			l.printer.add(printItem{from: h, end: &wire.OutputEnd{Rank: seat.Rank, Stream: s}})
		}
	}
	l.event(Event{Kind: HostLost, Host: h.name, Rank: -1, Message: why.Error()})
	l.report(h.name, why.Error(), ranks...)
	if len(l.failures) == 0 {
		l.end(&HostError{Host: h.name, Step: "run", Err: why}, syscall.SIGTERM)
	}
}

// end ends the job for a reason that is not a rank's failure, unless it ends
// already.
func (l *launch) end(reason error, s syscall.Signal) {
	if l.stopping {
		return
	}
	l.reason = reason
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
	l.stopping = true
	for _, h := range l.hosts {
		if !h.ended() {
			h.conn.Send(&wire.Stop{Signal: int(s), Grace: int64(grace)})
		}
	}
}

// ends says whether a signal to the launcher ends the job.
func ends(s os.Signal) bool {
	return s == syscall.SIGINT || s == syscall.SIGTERM || s == syscall.SIGHUP
}

func signalNameOf(s os.Signal) string {
	n, _ := s.(syscall.Signal)
	return signalName(int(n))
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
		l.printer.abandon()
	default:
		for _, h := range l.hosts {
			if !h.ended() {
				h.conn.Send(&wire.Signal{Signal: int(n)})
			}
		}
	}
}

// writeFailed ends a job whose output nobody takes any more. A closed pipe is
// how a reader says that it has seen enough. Output that was lost makes a
// failure even of a job that has ended well.
func (l *launch) writeFailed(err error) {
	if errors.Is(err, syscall.EPIPE) {
		err = &SignalError{"SIGPIPE"}
	} else {
		err = fmt.Errorf("write the output of the ranks: %w", err)
	}
	l.end(err, syscall.SIGTERM)
	if l.reason == nil && len(l.failures) == 0 {
		l.reason = err
	}
}

// finish lets the agents go and makes the result.
func (l *launch) finish(result *Result) {
	l.closeHosts()
	l.sweepLost()
	for rank, e := range l.exits {
		if e != nil {
			e.Tail = l.printer.tail(rank)
			result.Ranks = append(result.Ranks, *e)
		}
	}
	if l.reason == nil {
		result.First = firstFailure(l.failures)
	}
	if result.First != nil {
		result.First.Tail = l.printer.tail(result.First.Rank)
	}
}

func (l *launch) closeHosts() {
	var wg sync.WaitGroup
	for _, h := range l.hosts {
		wg.Go(h.close)
	}
	wg.Wait()
}

// sweepPatience bounds how long a lost host is asked to end what is left
// there. One that is cut off does so by itself.
const sweepPatience = 3 * time.Second

// sweepLost ends what agents that died may have left.
func (l *launch) sweepLost() {
	var wg sync.WaitGroup
	problems := make([]error, len(l.hosts))
	for i, h := range l.hosts {
		if h.lost != nil {
			wg.Go(func() { problems[i] = l.sweep(h) })
		}
	}
	wg.Wait()
	for i, err := range problems {
		if err != nil {
			l.event(Event{Kind: Warning, Host: l.hosts[i].name, Rank: -1,
				Message: fmt.Sprintf("could not look for what is left of the job there: %v", err)})
		}
	}
}

func (l *launch) sweep(h *host) error {
	ctx, cancel := context.WithTimeout(context.Background(), sweepPatience)
	defer cancel()
	if h.local {
		return exec.CommandContext(ctx, l.reacher.path, "agent", "--sweep", l.id).Run()
	}
	c, err := l.reacher.dialer.Dial(ctx, h.entry)
	if err != nil {
		return err
	}
	stream, err := c.StartAgent(ctx, l.reacher.program, remote.Start{
		Args: []string{"agent", "--sweep", l.id}, Stderr: h.stderr, Log: l.reacher.log,
	})
	if err != nil {
		return err
	}
	defer stream.Close()
	defer context.AfterFunc(ctx, func() { stream.Close() })()
	return stream.Wait()
}
