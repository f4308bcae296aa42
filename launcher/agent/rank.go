//go:build linux

package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gorun/gorun/launcher/wire"
)

// rank is one process of the job, the leader of its own process group.
type rank struct {
	number int
	pid    int  // 0: not started
	alive  bool // under agent.mu
	told   bool // TERM or KILL was sent; under agent.mu
}

// startRanks starts this host's ranks. What cannot work for one of them is
// found before the first is started.
func (a *agent) startRanks() error {
	host := hostEnv(os.Environ(), a.start)
	ranks := a.host().Ranks
	appOf := map[int]int{}
	for i, app := range a.start.Apps {
		for _, r := range app.Ranks {
			appOf[r] = i
		}
	}
	ready := map[int]prepared{} // by app: one that has no rank here need not be here
	for _, r := range ranks {
		app := appOf[r]
		if _, found := ready[app]; found {
			continue
		}
		program, problem := a.prepare(a.start.Apps[app], r, host)
		if problem != nil {
			return a.conn.Send(problem)
		}
		ready[app] = program
	}
	world, as := hostWorld(a.start, a.services.path()), launchers(a.start)
	var failed atomic.Pointer[error]
	a.children.each(len(ranks), func(local int) bool {
		w := world
		w.Rank, w.LocalRank = ranks[local], local
		started, err := a.startRank(w.Rank, ready[appOf[w.Rank]], rankEnv(w, as, a.start.HNP))
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

// prepared is a program as it will be started on this host.
type prepared struct {
	path string
	args []string
	dir  string
	env  []string // all but what differs from rank to rank
}

// prepare finds the folder and the program of an app whose first rank here is
// first, or says what is wrong.
func (a *agent) prepare(app wire.App, first int, host map[string]string) (prepared, *wire.NotStarted) {
	p := prepared{args: app.Args, dir: app.Dir}
	refuse := func(path string, err error, hint string) (prepared, *wire.NotStarted) {
		return p, &wire.NotStarted{
			Rank: first, Path: path, Error: reason(err), Hint: hint,
			Missing: errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNotInPath),
		}
	}
	if err := folderExists(p.dir); err != nil {
		if !app.DirHint {
			return refuse(p.dir, fmt.Errorf("working folder: %w", err), "")
		}
		if p.dir = host["HOME"]; folderExists(p.dir) != nil {
			p.dir = "/"
		}
		missing := "there is no folder " + app.Dir
		if app.Dir == "" {
			missing = "the working folder of gorun is gone"
		}
		a.conn.Send(&wire.Notice{Text: missing + ", so ranks start in " + p.dir})
	}
	p.env = composeEnv(a.start, app, host, p.dir)
	name := app.Args[0]
	if app.Staged != "" {
		staged := a.files.path(app.Staged)
		if staged == "" {
			return refuse(name, errors.New("it was not staged"), "")
		}
		p.path = staged
		return p, nil
	}
	path, err := findProgram(name, p.dir, lookupEnv(p.env, "PATH"))
	if err != nil {
		hint := ""
		if errors.Is(err, errNotInPath) && executable(filepath.Join(p.dir, name)) == nil {
			hint = fmt.Sprintf("%s has a program of that name in %s: write ./%s", a.host().Name, p.dir, name)
		}
		return refuse(name, err, hint)
	}
	p.path = path
	return p, nil
}

// reason drops what the message that carries it says anyway: the path.
func reason(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err.Error()
	}
	return err.Error()
}

// startRank starts one rank with its streams, on a forking thread. If that does
// not work, it tells the launcher why.
func (a *agent) startRank(number int, p prepared, env []string) (started bool, err error) {
	out, err := a.newStreams(number)
	if err != nil {
		return false, a.conn.Send(notStarted(number, p.path, err))
	}
	door, err := a.services.door()
	if err != nil {
		out.close()
		out.closeChildSide()
		return false, a.conn.Send(notStarted(number, p.path, err))
	}
	// KILL reaches a rank even if the agent is killed.
	sys := &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if sys.Setpgid = !out.terminal; out.terminal {
		sys.Setsid, sys.Setctty = true, true // descriptor 0; a session's leader leads a group too
	}
	attr := &syscall.ProcAttr{
		Dir: p.dir,
		Env: append(p.env[:len(p.env):len(p.env)], env...),
		Files: []uintptr{
			uintptr(out.stdin), uintptr(out.stdout), uintptr(out.stderr),
			doorFD: door.Fd(),
		},
		Sys: sys,
	}
	r := &rank{number: number, alive: true}
	// The rank is on the list before it can end.
	a.mu.Lock()
	a.ranks = append(a.ranks, r)
	a.living++
	a.mu.Unlock()
	pid, err := a.children.start(p.path, p.args, attr, func(status syscall.WaitStatus) { a.ended(r, status) })
	out.closeChildSide()
	door.Close()
	if err != nil {
		out.close()
		a.forget(r)
		return false, a.conn.Send(notStarted(number, p.path, err))
	}
	a.mu.Lock()
	r.pid = pid
	a.mu.Unlock()
	a.connect(number, out)
	return true, a.conn.Send(&wire.Started{Rank: number, PID: pid})
}

// notStarted explains why a program that looked right did not start.
func notStarted(rank int, path string, err error) *wire.NotStarted {
	m := &wire.NotStarted{Rank: rank, Path: path, Error: err.Error(), Exhausted: true}
	switch {
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		m.Hint = "each rank takes about ten open files of the agent: raise the limit (ulimit -n) on the host, or run fewer ranks there"
	case errors.Is(err, syscall.EAGAIN):
		m.Hint = "raise the limit of processes (ulimit -u) on the host, or run fewer ranks there"
	case errors.Is(err, syscall.ENOMEM):
		m.Hint = "the host is out of memory: run fewer ranks there"
	case errors.Is(err, syscall.E2BIG):
		m.Hint = "the arguments and the environment are too long for the host: forward less with --export none and -x"
	case errors.Is(err, syscall.ENOENT):
		m.Exhausted, m.Missing = false, true
		m.Hint = "the program is there, but not what its first line (#!) or its dynamic loader names"
	case errors.Is(err, syscall.ENOEXEC):
		m.Exhausted = false
		m.Hint = "it is neither a program for this system nor a script that begins with #!"
	default:
		m.Exhausted = false
	}
	return m
}

// ended records the end of a rank. It runs on the reaping goroutine.
func (a *agent) ended(r *rank, status syscall.WaitStatus) {
	now := time.Now()
	m := &wire.Exited{Rank: r.number, Code: status.ExitStatus(), Clock: now.UnixNano()}
	if status.Signaled() {
		m.Code, m.Signal = -1, int(status.Signal())
	}
	a.mu.Lock()
	m.Told = r.told
	a.mu.Unlock()
	if m.Code != 0 && !m.Told {
		m.OOM, m.HostOOM = a.ooms.take()
	}
	a.conn.Send(m) // an error means that the launcher is gone, which receive sees
	a.forget(r)
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
