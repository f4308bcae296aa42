//go:build linux

package agent

import (
	"syscall"
	"time"
)

// children is what an agent asks of an operating system: the [nursery], or a
// [rehearsal].
type children interface {
	// each calls f with 0 … count-1 where start may be called, several at a
	// time, and waits. After an f that returned false some are left out.
	each(count int, f func(i int) bool)

	// start executes a program as the leader of a process group, bound to
	// cpus, nil for all. ended is called when it was reaped, and must not
	// block.
	start(path string, args []string, attr *syscall.ProcAttr, cpus []int, ended func(syscall.WaitStatus)) (pid int, err error)

	// signal sends s to the process group of a leader that was not reaped.
	signal(leader int, s syscall.Signal)

	// signalStrays sends s to all other processes below this one: those whose
	// group has none of the leaders.
	signalStrays(leaders map[int]bool, s syscall.Signal)

	// stopped says whether every process below this one has stopped.
	stopped() bool

	// awaitStrays blocks until the processes that are below this one now have
	// ended, or till the deadline, and says whether there were none.
	awaitStrays(deadline time.Time) (gone bool)

	// killRest kills all processes below this one, and returns those that did
	// not go.
	killRest() (left []int)

	// close ends what start needed. No process may be left.
	close()
}
