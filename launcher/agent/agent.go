//go:build linux

package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gorun/gorun/launcher/agent/cgroup"
	"github.com/gorun/gorun/launcher/wire"
	"github.com/gorun/gorun/nccl/topo"
	"github.com/gorun/gorun/rankenv"
)

// orphanGrace bounds how long ranks may take to end when nobody waits for
// them any more.
const orphanGrace = 2 * time.Second

// agent is one host's part of one job.
//
// The receiving goroutine is run's own: it acts on the launcher's messages in
// order. Beside it there are the lookout, one for each stream of a rank that has
// printed and that the launcher does not read itself, the keeper, which ends the
// job, and those of wg, which do what would block the first. run waits for all of
// them. For the audit, which a dead file server may hold, it does not wait long.
type agent struct {
	conn    *wire.Conn
	folders folders
	window  wire.Window
	files   store

	processes Processes
	lookout   *lookout       // for what most ranks leave alone; nil before Begin
	pumps     sync.WaitGroup // one for each stream of a rank
	wg        sync.WaitGroup // the lease, the signals, a probe, a pause, stack traces, ranks' last words by PMI
	began     time.Time
	heard     atomic.Int64 // when the launcher was last heard, in nanoseconds since began: no jump of the clock ends a lease

	// ctx ends when the launcher is lost: nothing can be sent any more.
	ctx    context.Context
	cancel context.CancelCauseFunc

	inventory  *topo.Inventory  // of this host
	interfaces []wire.Interface // of this host
	ports      ports            // of this host, that the job has
	beacon     *beacon          // for hosts that look for this one before Start; nil: none
	start      *share
	services   *services     // what ranks are offered; nil before Start
	hostWorld  rankenv.World // the place of this host's ranks, but for what differs from one to the other
	stdin      input
	socket     syscall.RawConn // to the launcher, if standard input is one; nil: not known
	ooms       oomCounter
	waiting    []*program                      // that start when the launcher says so; nil: none
	libpmi     func() (path string, err error) // putLibpmi, once
	unasked    sync.Once                       // the user is told that a rank has not asked for its place

	mu        sync.Mutex
	ranks     []*rank
	audited   <-chan struct{} // closed when the launcher was told of this host; nil: nothing is to be told
	pipes     []*os.File      // that pumps read
	terminals []*os.File      // those of them that are ranks' terminals
	living    int
	failed    bool          // a rank has, by itself
	finished  bool          // wg takes no more ranks' ends: run waits for it
	changed   chan struct{} // closed and replaced when a rank ends
	killAt    time.Time     // when KILL follows TERM; zero: the job runs
	keeper    chan struct{} // closed when the keeper has finished; nil: not started
	sooner    chan struct{} // tells the keeper that killAt came nearer
	pausing   pausing
}

// run is the agent below the guardian. It returns when nothing of the job is
// left on this host.
func run(token string) error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become a child sub-reaper: %w", err)
	}
	stream, err := takeStream()
	if err != nil {
		return err
	}
	nursery := newNursery()
	a := newAgent(stream, token, nursery)
	if a.socket, err = stream[0].SyscallConn(); err != nil {
		return err
	}
	// Hello first: the launcher works on it while this process gets ready.
	err = a.conn.Send(a.hello())
	folders := cgroup.Locate()
	a.ooms.begin(folders)
	nursery.group.open(folders.Unified, token)
	catchSignals()
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM) // from the kernel, when the guardian dies
	a.wg.Go(func() { a.watch(term) })
	return a.serve(err)
}

// newAgent returns an agent that serves the launcher at the other end of
// stream.
func newAgent(stream io.ReadWriteCloser, token string, p Processes) *agent {
	conn := wire.NewConn(stream)
	a := &agent{
		conn:       conn,
		stdin:      input{conn: conn},
		folders:    folders{token: token},
		began:      timeNow(),
		processes:  p,
		changed:    make(chan struct{}),
		sooner:     make(chan struct{}, 1),
		inventory:  topo.Scan("/", affinity()),
		interfaces: interfaces(),
		ports:      newPorts(),
	}
	a.files.folders = &a.folders
	a.libpmi = sync.OnceValues(a.putLibpmi)
	a.ctx, a.cancel = context.WithCancelCause(context.Background())
	return a
}

// serve acts for the launcher until its stream ends, and returns when nothing
// of the job is left. err is that of the hello.
func (a *agent) serve(err error) error {
	if err == nil {
		err = a.receive()
	}
	a.finish(err)
	if errors.Is(err, io.EOF) || errors.Is(err, errGuardian) || errors.Is(err, errSilence) ||
		errors.Is(err, syscall.ECONNRESET) {
		return nil // the launcher's end is not an error of this agent
	}
	return err
}

// catchSignals catches the signals that the runtime leaves as they were when this
// process started, or would end or stop it by; nothing is done with them. All
// others that can be caught are by the runtime (os/signal, "Default behavior of
// signals in Go programs"). So none is ignored, and since exec gives what is caught
// its default disposition, ranks start clean. To catch one takes four switches of
// threads.
func catchSignals() {
	dropped := make(chan os.Signal, 1)
	signal.Notify(dropped, syscall.SIGHUP, syscall.SIGINT, syscall.SIGCONT, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU,
		syscall.SIGQUIT, syscall.SIGABRT)
}

// receive acts on messages until the stream ends, which is the launcher's way
// to say goodbye as well as its death.
func (a *agent) receive() error {
	for {
		m, err := a.conn.Receive()
		if err != nil {
			if cause := context.Cause(a.ctx); cause != nil {
				return cause
			}
			return err
		}
		a.heard.Store(a.elapsed())
		if err := a.handle(m); err != nil {
			return err
		}
	}
}

// handle acts on one message. It must not block on ranks or on the launcher.
func (a *agent) handle(m wire.Message) error {
	switch m := m.(type) {
	case *wire.File:
		return a.conn.Send(a.files.announce(m))
	case *wire.FileData:
		answer, err := a.files.write(m.Data)
		if err != nil || answer == nil {
			return err
		}
		return a.conn.Send(answer)
	case *wire.Examine:
		return a.conn.Send(examine())
	case *wire.FindPorts:
		return a.conn.Send(a.ports.answer(m))
	case *wire.Probe:
		a.beacon.close()
		a.beacon = light(m)
		a.wg.Go(func() { a.conn.Send(probe(a.ctx, m.Targets)) })
	case *wire.Start:
		if a.start != nil {
			return errors.New("the launcher sent Start twice")
		}
		a.start = &share{Start: m, Begin: wire.Begin{Node: -1}}
	case *wire.Begin:
		return a.begin(m)
	case *wire.Proceed:
		return a.proceed()
	case *wire.ShowEnv:
		return a.showEnv(m)
	case *wire.Meet:
		return a.services.meet(m.Gossip)
	case *wire.Relay:
		return a.services.deliver(m)
	case *wire.Report:
		return a.services.report(m)
	case *wire.Input:
		a.stdin.feed(m.Data)
	case *wire.InputEnd:
		a.stdin.end()
	case *wire.Resize:
		a.resize(m)
	case *wire.Signal:
		a.signal(syscall.Signal(m.Signal))
	case *wire.TakeStacks:
		a.wg.Go(func() { a.takeStacks(m) })
	case *wire.Pause:
		a.pause()
	case *wire.Resume:
		a.resume()
	case *wire.Stop:
		a.stop(syscall.Signal(m.Signal), time.Duration(m.Grace))
	case *wire.Credit:
		a.window.Give(m.Bytes)
	case *wire.Heartbeat:
		return a.conn.Send(&wire.Echo{Sent: m.Clock, Clock: a.elapsed()})
	case *wire.Echo:
	default:
		return fmt.Errorf("unexpected message %T from the launcher", m)
	}
	return nil
}

// share is a job as the agent of one host sees it.
type share struct {
	*wire.Start
	wire.Begin        // its Node is -1 until it has come
	RASPort    int    // of NCCL's RAS service, which all ranks of the host share; 0: NCCL's own choice
	Via        string // the interface with the address at which the other hosts reach this one; "": not known, or there is no other
}

// settle takes what the launcher says of this host.
func (a *agent) settle(own *wire.Begin) error {
	m := a.start
	switch {
	case m == nil:
		return errors.New("the launcher sent Begin before Start")
	case m.Node >= 0:
		return errors.New("the launcher sent Begin twice")
	case own.Node < 0 || own.Node >= len(m.Hosts):
		return fmt.Errorf("the launcher sent node %d of %d", own.Node, len(m.Hosts))
	}
	m.Begin = *own
	m.RASPort = a.ports.any()
	if len(m.Hosts) > 1 {
		m.Via = interfaceOf(a.interfaces, a.host().Addr)
	}
	return nil
}

// begin starts this host's share of the job.
func (a *agent) begin(own *wire.Begin) error {
	if err := a.settle(own); err != nil {
		return err
	}
	m := a.start
	a.beacon.close()
	a.window.Give(m.Window)
	if m.Timeout > 0 {
		a.wg.Go(a.keepLease)
	}
	var err error
	if a.lookout, err = newLookout(); err != nil {
		return err
	}
	if a.services, err = startServices(a.ctx, a, m); err != nil {
		return err
	}
	if err := a.conn.Send(&wire.Ready{Gossip: a.services.address()}); err != nil {
		return err
	}
	a.hostWorld = hostWorld(m, a.services.path())
	return a.startRanks()
}

// host is this agent's own host in the plan.
func (a *agent) host() wire.Host { return a.start.Hosts[a.start.Node] }

// finish ends whatever still runs after the stream has ended with err, and
// all goroutines.
func (a *agent) finish(err error) {
	a.cancel(err)
	a.conn.Close()
	grace := orphanGrace
	if a.start != nil {
		grace = min(grace, time.Duration(a.start.Grace))
	}
	a.resume() // what stands still cannot end by itself
	a.stop(syscall.SIGTERM, grace)
	<-a.keeper
	a.stdin.close()
	a.lookout.close()
	if a.services != nil {
		a.services.close()
	}
	a.beacon.close()
	a.mu.Lock()
	a.finished = true
	a.mu.Unlock()
	a.wg.Wait()
	a.awaitAudit()
	a.processes.Close()
	a.files.close()
	a.ports.close()
	a.folders.remove()
}
