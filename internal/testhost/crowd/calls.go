//go:build linux

package main

import (
	"context"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// calls is the ranks of one host: calls of rank instead of processes, which the
// agent does not notice. It implements agent.Processes. The context of a call
// ends when it is sent a signal that would end a process.
type calls struct {
	running sync.WaitGroup

	mu    sync.Mutex
	alive map[int]context.CancelCauseFunc // by pid
}

func newCalls() *calls { return &calls{alive: map[int]context.CancelCauseFunc{}} }

// call is what a rank finds that is no process. Its files are closed when it
// returns.
type call struct {
	args, env             []string
	stdin, stdout, stderr *os.File
	door                  *os.File // to the job, which has a path in env as well
}

// lastPID counts from above what Linux gives to processes (PID_MAX_LIMIT), so
// that no process can be meant.
var lastPID atomic.Int64

func init() { lastPID.Store(4 << 20) }

// killed is why a call's context ends.
type killed struct{ by syscall.Signal }

func (k killed) Error() string { return "killed by " + unix.SignalName(k.by) }

func (c *calls) Each(count int, f func(int) bool) {
	for i := 0; i < count && f(i); i++ {
	}
}

func (c *calls) Start(_ string, args []string, attr *syscall.ProcAttr, _ []int, ended func(syscall.WaitStatus)) (int, error) {
	r := &call{args: args, env: attr.Env}
	files := []**os.File{&r.stdin, &r.stdout, &r.stderr, &r.door}
	closeAll := func() {
		for _, f := range files {
			(*f).Close() // of nil it only says so
		}
	}
	for i, f := range files {
		fd, err := unix.FcntlInt(attr.Files[i], unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			closeAll()
			return 0, err
		}
		// A call that waits for its pipe shall take no thread.
		unix.SetNonblock(fd, true)
		*f = os.NewFile(uintptr(fd), "rank")
	}
	pid := int(lastPID.Add(1))
	ctx, cancel := context.WithCancelCause(context.Background())
	c.mu.Lock()
	c.alive[pid] = cancel
	c.mu.Unlock()
	c.running.Go(func() {
		status := syscall.WaitStatus(rank(ctx, r) << 8) // wait(2): the status is the second byte
		if k, ok := context.Cause(ctx).(killed); ok {
			status = syscall.WaitStatus(k.by)
		}
		closeAll()
		c.mu.Lock()
		delete(c.alive, pid)
		c.mu.Unlock()
		cancel(nil)
		ended(status)
	})
	return pid, nil
}

func (c *calls) Signal(leader int, s syscall.Signal) {
	switch s {
	case syscall.SIGCHLD, syscall.SIGURG, syscall.SIGWINCH, syscall.SIGCONT, syscall.SIGSTOP, syscall.SIGTSTP:
		return // they end no process
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if cancel := c.alive[leader]; cancel != nil {
		cancel(killed{s})
	}
}

func (c *calls) KillRest() (left []int) {
	c.mu.Lock()
	for _, cancel := range c.alive {
		cancel(killed{syscall.SIGKILL})
	}
	c.mu.Unlock()
	c.running.Wait()
	return nil
}

// Calls leave nothing behind.
func (c *calls) SignalStrays(map[int]bool, syscall.Signal) {}
func (c *calls) Stopped() bool                             { return true }
func (c *calls) AwaitStrays(time.Time) (gone bool)         { return true }
func (c *calls) Close()                                    { c.running.Wait() }
