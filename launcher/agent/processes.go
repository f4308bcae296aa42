//go:build linux

package agent

import (
	"io"
	"syscall"
	"time"
)

// Processes starts, signals and ends what runs for an agent. Those of [Main]
// are processes of this host, in a [nursery].
type Processes interface {
	// Each calls f with 0 … count-1 where Start may be called, several at a
	// time, and waits. After an f that returned false some are left out.
	Each(count int, f func(i int) bool)

	// Start executes a program as the leader of a process group, bound to
	// cpus, nil for all. attr has its environment and its files: standard
	// streams and, fourth, the door to the job. They are the caller's to close
	// when Start returns. ended is called when the process was reaped, and must not block.
	Start(path string, args []string, attr *syscall.ProcAttr, cpus []int, ended func(syscall.WaitStatus)) (pid int, err error)

	// Signal sends s to the process group of a leader that was not reaped.
	Signal(leader int, s syscall.Signal)

	// SignalStrays sends s to all other processes below this one: those whose
	// group has none of the leaders.
	SignalStrays(leaders map[int]bool, s syscall.Signal)

	// Stopped says whether every process below this one has stopped.
	Stopped() bool

	// AwaitStrays blocks until the processes that are below this one now have
	// ended, or till the deadline, and says whether there were none.
	AwaitStrays(deadline time.Time) (gone bool)

	// KillRest kills all processes below this one, and returns those that did
	// not go.
	KillRest() (left []int)

	// Close ends what Start needed. No process may be left.
	Close()
}

// Serve is an agent of the job with that id, for the launcher at the other end
// of stream, whose ranks are started in p. [Main] is one for a process of its
// own; with Serve many can share one, where ranks need no processes. It blocks
// until the stream has ended and nothing of the job is left, and then closes p.
func Serve(stream io.ReadWriteCloser, job string, p Processes) error {
	token := newToken(job)
	defer removeFolders(token)
	a := newAgent(stream, token, p)
	return a.serve(a.conn.Send(a.hello()))
}
