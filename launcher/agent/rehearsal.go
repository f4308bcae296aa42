//go:build linux

package agent

import (
	"context"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Rehearsed is a rank that is a function call instead of a process: what a
// process would find. Its files are closed when the call returns.
type Rehearsed struct {
	Args, Env             []string
	Stdin, Stdout, Stderr *os.File
	Door                  *os.File // to the job, which has a path in Env as well
}

// Rehearse is an agent of a job whose ranks are calls of program, which returns
// an exit status. All else is as on a host: the messages on stream, credit,
// leases, gossip, the job socket. So one process can hold the agents of a
// thousand hosts, to see how a launcher fares with them.
//
// The context of a call ends when the rank is sent a signal that would end a
// process. Rehearse returns when nothing of the job is left.
func Rehearse(stream io.ReadWriteCloser, job string, program func(context.Context, *Rehearsed) (status int)) error {
	token := newToken(job)
	defer removeFolders(token)
	a := newAgent(stream, token, &rehearsal{program: program, alive: map[int]context.CancelCauseFunc{}})
	return a.serve(a.conn.Send(a.hello()))
}

// rehearsal is the ranks of one rehearsing agent.
type rehearsal struct {
	program func(context.Context, *Rehearsed) int
	calls   sync.WaitGroup

	mu    sync.Mutex
	alive map[int]context.CancelCauseFunc // by pid
}

// lastPID counts from above what Linux gives to processes (PID_MAX_LIMIT), so
// that no process can be meant.
var lastPID atomic.Int64

func init() { lastPID.Store(4 << 20) }

// killed is why a call's context ends.
type killed struct{ by syscall.Signal }

func (k killed) Error() string { return "killed by " + unix.SignalName(k.by) }

func (r *rehearsal) each(count int, f func(int) bool) {
	for i := 0; i < count && f(i); i++ {
	}
}

func (r *rehearsal) start(_ string, args []string, attr *syscall.ProcAttr, _ []int, ended func(syscall.WaitStatus)) (int, error) {
	rank := &Rehearsed{Args: args, Env: attr.Env}
	files := []**os.File{&rank.Stdin, &rank.Stdout, &rank.Stderr, &rank.Door}
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
		*f = os.NewFile(uintptr(fd), "rehearsed")
	}
	pid := int(lastPID.Add(1))
	ctx, cancel := context.WithCancelCause(context.Background())
	r.mu.Lock()
	r.alive[pid] = cancel
	r.mu.Unlock()
	r.calls.Go(func() {
		status := syscall.WaitStatus(r.program(ctx, rank) << 8) // wait(2): the status is the second byte
		if k, ok := context.Cause(ctx).(killed); ok {
			status = syscall.WaitStatus(k.by)
		}
		closeAll()
		r.mu.Lock()
		delete(r.alive, pid)
		r.mu.Unlock()
		cancel(nil)
		ended(status)
	})
	return pid, nil
}

func (r *rehearsal) signal(leader int, s syscall.Signal) {
	switch s {
	case syscall.SIGCHLD, syscall.SIGURG, syscall.SIGWINCH, syscall.SIGCONT, syscall.SIGSTOP, syscall.SIGTSTP:
		return // they end no process
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if cancel := r.alive[leader]; cancel != nil {
		cancel(killed{s})
	}
}

func (r *rehearsal) killRest() (left []int) {
	r.mu.Lock()
	for _, cancel := range r.alive {
		cancel(killed{syscall.SIGKILL})
	}
	r.mu.Unlock()
	r.calls.Wait()
	return nil
}

// Calls leave nothing behind.
func (r *rehearsal) signalStrays(map[int]bool, syscall.Signal) {}
func (r *rehearsal) stopped() bool                             { return true }
func (r *rehearsal) awaitStrays(time.Time) (gone bool)         { return true }
func (r *rehearsal) close()                                    { r.calls.Wait() }
