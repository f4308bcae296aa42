//go:build linux

package agent

import (
	"errors"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gorun/gorun/launcher/wire"
	"github.com/gorun/gorun/rendezvous/pmi"
)

// rank is one process of the job, the leader of its own process group.
type rank struct {
	number int
	mpi    string    // see program
	held   *os.File  // of its terminal, until it is reaped; nil: it has none
	pid    int       // 0: not started
	alive  bool      // under agent.mu
	told   bool      // TERM or KILL was sent; under agent.mu
	dying  time.Time // when it was found ending, before it was reaped; zero: it was not; under agent.mu

	unborn time.Time // when another failed while the call that starts this one had not returned; zero: none; under agent.mu

	connections []net.Conn // to the job, that are open; under agent.mu
	vanished    time.Time  // when the last one ended without a goodbye; zero: it did not; under agent.mu

	aborted bool // it has asked for the end of the job, which was told as its own; under agent.mu

	// A rank can be reaped before the thread that started it has said so.
	announced bool         // that it runs; under agent.mu
	end       *wire.Exited // to be told once that was; under agent.mu
	reaped    bool         // its pid may be another process's by now; under agent.mu
	left      bool         // its end was dealt with; under agent.mu
}

// running says whether there is a process that its pid stands for. agent.mu is
// held.
func (r *rank) running() bool { return r.alive && !r.reaped && r.pid > 0 }

// startRanks starts this host's ranks, or, in a strict job of several hosts, has
// them ready. What cannot work for one of them is found before the first is
// started.
func (a *agent) startRanks() error {
	programs, problem := a.preparePrograms()
	if problem == nil {
		problem = a.refuseFiles(programs)
	}
	if problem != nil {
		return a.conn.Send(problem)
	}
	if a.start.Strict && len(a.start.Hosts) > 1 {
		a.waiting = programs
		a.audit(programs)
		return nil
	}
	err := a.startPrograms(programs)
	a.audit(programs)
	return err
}

// startPrograms starts what each of this host's ranks runs.
func (a *agent) startPrograms(programs []*program) error {
	if err := a.services.servePMI(programs); err != nil {
		return a.conn.Send(notStarted(a.host().Ranks[0], "PMI", err))
	}
	makeRoom(programs)
	var failed atomic.Pointer[error]
	a.processes.Each(len(programs), func(local int) bool {
		rank := a.host().Ranks[local]
		env := append(a.ownEnv(programs[local].env, local), a.services.pmiEnv(programs[local], rank)...)
		started, err := a.startRank(rank, programs[local], env, a.seat(local).CPUs)
		if err != nil {
			failed.CompareAndSwap(nil, &err)
		}
		return started && err == nil && failed.Load() == nil
	})
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}

// startRank starts one rank with its streams, on a forking thread, bound to cpus
// if there are any. If that does not work, it tells the launcher why.
func (a *agent) startRank(number int, p *program, env []string, cpus []int) (started bool, err error) {
	out, err := a.newStreams(number)
	if err != nil {
		return false, a.conn.Send(notStarted(number, p.path, err))
	}
	door, err := a.services.door(number)
	if err != nil {
		out.close()
		out.closeChildSide()
		return false, a.conn.Send(notStarted(number, p.path, err))
	}
	connection, err := a.services.pmiConnection(p, number)
	if err != nil {
		out.close()
		out.closeChildSide()
		unix.Close(door)
		return false, a.conn.Send(notStarted(number, p.path, err))
	}
	// KILL reaches a rank even if the agent is killed.
	sys := &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if sys.Setpgid = out.terminal == nil; !sys.Setpgid {
		sys.Setsid, sys.Setctty = true, true // descriptor 0; a session's leader leads a group too
	}
	attr := &syscall.ProcAttr{
		Dir: p.dir,
		Env: append(p.env[:len(p.env):len(p.env)], env...),
		Files: []uintptr{
			uintptr(out.stdin), uintptr(out.stdout), uintptr(out.stderr),
			doorFD: uintptr(door),
		},
		Sys: sys,
	}
	if connection != nil {
		attr.Files = append(attr.Files, connection.Fd()) // pmiFD
	}
	r := &rank{number: number, mpi: p.mpi, held: out.held, alive: true}
	// The rank is on the list before it can end.
	a.mu.Lock()
	a.ranks = append(a.ranks, r)
	a.living++
	a.mu.Unlock()
	pid, err := a.processes.Start(p.exec, p.argv, attr, cpus, func(status syscall.WaitStatus) { a.ended(r, status) })
	out.closeChildSide()
	unix.Close(door)
	connection.Close() // of nil it only says so
	if err != nil {
		out.close()
		a.forget(r)
		return false, a.conn.Send(notStarted(number, p.exec, err))
	}
	a.mu.Lock()
	r.begun(pid)
	a.mu.Unlock()
	a.connect(number, out)
	err = a.conn.Send(&wire.Started{Rank: number, PID: pid})
	a.mu.Lock()
	r.announced = true
	end, left := r.end, r.left
	a.mu.Unlock()
	if end != nil {
		a.conn.Send(end) // an error means that the launcher is gone, which receive sees
	}
	if left {
		a.forget(r)
	}
	return true, err
}

// notStarted explains why a program that looked right did not start.
func notStarted(rank int, path string, err error) *wire.NotStarted {
	m := &wire.NotStarted{Rank: rank, Path: path, Part: wire.PartProgram, Error: err.Error(), Exhausted: true}
	switch {
	case errors.As(err, new(*bindError)):
		m.Hint = "the CPUs of the host have changed since it was asked: start the job again, or with --bind-to none"
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		m.Hint = fmt.Sprintf("each rank takes up to %d open files of the agent: raise the limit (ulimit -n) on the host, or run fewer ranks there", rankFiles+pmiFiles)
	case errors.Is(err, syscall.EAGAIN):
		m.Hint = "raise the limit of processes (ulimit -u) on the host, or run fewer ranks there"
	case errors.Is(err, syscall.ENOMEM):
		m.Hint = "the host is out of memory: run fewer ranks there"
	case errors.Is(err, syscall.E2BIG):
		m.Hint = "the arguments and the environment are too long for the host: forward less with --export none and -x"
	case errors.Is(err, syscall.ENOENT):
		m.Exhausted, m.Missing, m.Part = false, true, wire.PartInterpreter
		m.Error, m.Hint = missingInterpreter(path)
	case errors.Is(err, syscall.ENOEXEC):
		m.Exhausted = false
		m.Hint = "it is neither a program for this system nor a script that begins with #!"
	default:
		m.Exhausted = false
	}
	return m
}

// ended records the end of a rank. It runs on the reaping goroutine or, for a
// rank that was quicker than its fork, on the one that started it.
func (a *agent) ended(r *rank, status syscall.WaitStatus) {
	at := timeNow()
	r.held.Close() // of nil it only says so
	speaks := a.services.speaksPMI(r.number)
	a.mu.Lock()
	r.reaped = true
	if speaks = speaks && !a.finished; speaks {
		// What it has said last may not be read yet.
		a.wg.Go(func() { a.leave(r, status, at, a.services.pmi.End(r.number)) })
	}
	a.mu.Unlock()
	if !speaks {
		a.leave(r, status, at, pmi.Ending{})
	}
}

// leave tells the launcher of the end of a rank, which was reaped at that time.
func (a *agent) leave(r *rank, status syscall.WaitStatus, at time.Time, end pmi.Ending) {
	m := &wire.Exited{Rank: r.number, Code: status.ExitStatus()}
	if status.Signaled() {
		m.Code, m.Signal = -1, int(status.Signal())
	}
	a.mu.Lock()
	if r.dying.IsZero() {
		r.dying = r.unborn
	}
	if status != 0 || end.Joined && !end.Finalized {
		r.noteEnding(at, status)
	}
	m.Told = (r.told || a.keeper != nil) && r.dying.IsZero()
	unasked := m.Code == 0 && !m.Told && !end.Joined && r.mpi != ""
	if m.Code == 0 && !m.Told && (end.Joined && !end.Finalized || unasked && a.start.Strict) {
		m.Code, m.Unfinalized = 1, true
	}
	if m.Code != 0 && !m.Told && !a.failed {
		a.failed = true
		a.noteDying(at)
	}
	if !r.dying.IsZero() {
		at = r.dying
	}
	aborted := r.aborted
	a.mu.Unlock()
	if unasked {
		a.warnUnasked(r)
	}
	m.Clock = int64(at.Sub(a.began))
	if m.Code != 0 && !m.Told {
		m.OOM, m.HostOOM = a.ooms.take()
	}
	if !aborted {
		a.tellEnd(r, m)
	}
	a.mu.Lock()
	r.left = true
	announced := r.announced
	a.mu.Unlock()
	if announced {
		a.forget(r)
	}
}

// tellEnd tells the launcher how a rank has ended, but not before it was told
// that the rank runs.
func (a *agent) tellEnd(r *rank, m *wire.Exited) {
	a.mu.Lock()
	announced := r.announced
	if !announced {
		r.end = m
	}
	a.mu.Unlock()
	if announced {
		a.conn.Send(m) // an error means that the launcher is gone, which receive sees
	}
}

// forget takes r from the living.
func (a *agent) forget(r *rank) {
	a.mu.Lock()
	defer a.mu.Unlock()
	r.alive = false
	a.living--
	close(a.changed)
	a.changed = make(chan struct{})
}
