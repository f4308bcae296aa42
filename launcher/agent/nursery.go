//go:build linux

package agent

import (
	"errors"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gorun/gorun/launcher/agent/proc"
)

// maxForkers bounds the threads that fork. A fork waits until its child has
// replaced itself; with a few of them the processors need not.
const maxForkers = 4

// nursery is the processes of this host. Children are forked by few threads,
// which live as long as the agent; another reaps them and every orphan that
// falls to the agent, so that a thousand ranks do not take a thousand threads.
type nursery struct {
	group   jobGroup
	work    chan func()
	allowed []int // CPUs of the forking threads
	wg      sync.WaitGroup

	mu      sync.Mutex
	forking int                              // forks under way
	alive   map[int]func(syscall.WaitStatus) // started and not yet reaped, by pid
	early   map[int]syscall.WaitStatus       // reaped while a fork that may be theirs was under way
	born    sync.Cond                        // a child was started, or the nursery closes
	closed  bool
}

func newNursery() *nursery {
	n := &nursery{
		work:    make(chan func()),
		allowed: affinity(),
		alive:   map[int]func(syscall.WaitStatus){},
		early:   map[int]syscall.WaitStatus{},
	}
	n.born.L = &n.mu
	for range forkers() {
		n.wg.Go(n.forkLoop)
	}
	n.wg.Go(n.reapLoop)
	return n
}

func forkers() int { return min(maxForkers, runtime.NumCPU()) }

// forkLoop runs forks on one thread until the nursery is closed.
func (n *nursery) forkLoop() {
	runtime.LockOSThread() // never unlocked: the thread ends with the loop
	// The signal mask is inherited over exec; a launcher started with signals
	// blocked must not pass that on to ranks.
	unix.PthreadSigmask(unix.SIG_SETMASK, &unix.Sigset_t{}, nil)
	for f := range n.work {
		f()
	}
}

// Each gives each forking thread a share of the calls. Handing over whole
// shares spares two switches of threads for each child.
func (n *nursery) Each(count int, f func(i int) bool) {
	var shares sync.WaitGroup
	for first := range min(count, forkers()) {
		shares.Add(1)
		n.work <- func() {
			defer shares.Done()
			for i := first; i < count && f(i); i += forkers() {
			}
		}
	}
	shares.Wait()
}

func (n *nursery) Start(path string, args []string, attr *syscall.ProcAttr, cpus []int, ended func(syscall.WaitStatus)) (pid int, err error) {
	if len(cpus) > 0 {
		// A child inherits the CPUs of the thread that forks it. That the thread
		// gets its own back can fail only if the host takes those away.
		defer bindThread(n.allowed)
		if err := bindThread(cpus); err != nil {
			return 0, err
		}
	}
	n.mu.Lock()
	n.forking++
	n.mu.Unlock()
	pid, err = n.group.start(path, args, attr)
	n.mu.Lock()
	n.forking--
	status, over := n.early[pid]
	delete(n.early, pid)
	if err == nil && !over {
		n.alive[pid] = ended
		n.born.Signal()
	}
	if n.forking == 0 {
		clear(n.early) // orphans, and children that did not execute
	}
	n.mu.Unlock()
	if err == nil && over {
		ended(status)
	}
	return pid, err
}

// reapLoop reaps children until the nursery is closed and none is left.
func (n *nursery) reapLoop() {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		n.mu.Lock()
		if err != nil { // no children
			for len(n.alive) == 0 && !n.closed {
				n.born.Wait()
			}
			if n.closed {
				n.mu.Unlock()
				return
			}
			n.mu.Unlock()
			continue
		}
		ended := n.alive[pid]
		delete(n.alive, pid)
		if ended == nil && n.forking > 0 {
			n.early[pid] = status
		}
		n.mu.Unlock()
		if ended != nil {
			ended(status)
		}
	}
}

func (n *nursery) Close() {
	close(n.work)
	n.mu.Lock()
	n.closed = true
	n.born.Signal()
	n.mu.Unlock()
	n.wg.Wait()
	n.group.close()
}

func (n *nursery) Signal(leader int, s syscall.Signal) { syscall.Kill(-leader, s) }

func (n *nursery) SignalStrays(leaders map[int]bool, s syscall.Signal) {
	for _, pid := range proc.Descendants() {
		if group, err := unix.Getpgid(pid); err == nil && !leaders[group] {
			syscall.Kill(pid, s)
		}
	}
}

func (n *nursery) Stopped() bool {
	return !slices.ContainsFunc(proc.Descendants(), func(pid int) bool {
		_, state, ok := proc.Parent(pid)
		return ok && state != 'T' && state != 't' && state != 'Z'
	})
}

func (n *nursery) AwaitStrays(deadline time.Time) (gone bool) {
	left := proc.Descendants()
	proc.Await(left, deadline)
	return len(left) == 0
}

func (n *nursery) KillRest() (left []int) {
	return proc.KillDescendants(n.group.kill, timeNow().Add(proc.Patience))
}
