//go:build linux

package agent

import (
	"errors"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// nursery starts and reaps processes. Ranks are forked by one thread, which
// lives as long as the agent; another reaps them and every orphan that falls
// to the agent, so that a thousand ranks do not take a thousand threads.
type nursery struct {
	starts chan func()
	wg     sync.WaitGroup

	mu     sync.Mutex
	alive  map[int]func(syscall.WaitStatus) // started and not yet reaped, by pid
	born   sync.Cond                        // a child was started, or the nursery closes
	closed bool
}

func newNursery() *nursery {
	n := &nursery{starts: make(chan func()), alive: map[int]func(syscall.WaitStatus){}}
	n.born.L = &n.mu
	n.wg.Go(n.forkLoop)
	n.wg.Go(n.reapLoop)
	return n
}

// forkLoop runs every fork on one thread until the nursery is closed.
func (n *nursery) forkLoop() {
	runtime.LockOSThread() // never unlocked: the thread ends with the loop
	// The signal mask is inherited over exec; a launcher started with signals
	// blocked must not pass that on to ranks.
	unix.PthreadSigmask(unix.SIG_SETMASK, &unix.Sigset_t{}, nil)
	for start := range n.starts {
		start()
	}
}

// do runs f on the forking thread and waits for it. Handing over all of a
// host's starts at once spares two switches of threads for each.
func (n *nursery) do(f func()) {
	done := make(chan struct{})
	n.starts <- func() {
		defer close(done)
		f()
	}
	<-done
}

// start forks and executes a program; it must be called inside do. ended is
// called when the program was reaped, on the reaping goroutine, which it must
// not block.
func (n *nursery) start(path string, args []string, attr *syscall.ProcAttr, ended func(syscall.WaitStatus)) (pid int, err error) {
	// Held over the fork, so that a child that ends at once is known before
	// it is reaped.
	n.mu.Lock()
	defer n.mu.Unlock()
	if pid, err = syscall.ForkExec(path, args, attr); err == nil {
		n.alive[pid] = ended
		n.born.Signal()
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
		}
		ended := n.alive[pid]
		delete(n.alive, pid)
		n.mu.Unlock()
		if ended != nil {
			ended(status)
		}
	}
}

// close ends the nursery. No child may be left.
func (n *nursery) close() {
	close(n.starts)
	n.mu.Lock()
	n.closed = true
	n.born.Signal()
	n.mu.Unlock()
	n.wg.Wait()
}
