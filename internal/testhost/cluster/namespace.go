//go:build linux

package cluster

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// namespaces are open files of /proc/PID/ns. An open file keeps a namespace
// reachable, and alive, without any process in it.
type namespaces []*os.File

// hostNamespaces are the ones a host has for itself. The mount namespace is
// entered last: the others' files are open by then, so the order is free, but
// no path means the same afterwards.
var hostNamespaces = []string{"net", "uts", "ipc", "pid", "mnt"}

// openNamespaces opens those of the process or thread whose folder in /proc is
// given.
func openNamespaces(proc string, names ...string) (namespaces, error) {
	var n namespaces
	for _, name := range names {
		f, err := os.Open(proc + "/ns/" + name)
		if err != nil {
			return nil, errors.Join(err, n.close())
		}
		n = append(n, f)
	}
	return n, nil
}

// enter runs f on a thread inside the namespaces. Processes that f starts and
// sockets and devices that it opens belong there for good; f must not start
// goroutines that rely on being inside, as they run on other threads.
func (n namespaces) enter(f func() error) error {
	return onSpareThread(func() error {
		// A thread may change its mount namespace only if it shares its working
		// folder and root with no other.
		if err := unix.Unshare(unix.CLONE_FS); err != nil {
			return fmt.Errorf("unshare: %w", err)
		}
		for _, file := range n {
			if err := unix.Setns(int(file.Fd()), 0); err != nil {
				return fmt.Errorf("enter %s: %w", file.Name(), err)
			}
		}
		return f()
	})
}

func (n namespaces) close() error {
	var problems []error
	for _, file := range n {
		problems = append(problems, file.Close())
	}
	return errors.Join(problems...)
}

// onSpareThread runs f on a thread of its own, which ends with f: a thread that
// has left its namespaces must not run other goroutines.
func onSpareThread(f func() error) error {
	done := make(chan error, 1)
	var run func()
	run = func() {
		runtime.LockOSThread() // not unlocked, so the thread ends with the goroutine
		if unix.Gettid() != unix.Getpid() {
			done <- f()
			return
		}
		// The main thread cannot end, and its namespaces are what /proc/self shows.
		// While this goroutine holds it, the next one is on another thread.
		defer runtime.UnlockOSThread()
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			run()
		}()
		<-ended
	}
	go run()
	return <-done
}
