//go:build linux

package agent

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/gorun/gorun/launcher/agent/proc"
)

// guard starts the agent of a job and outlives it: the processes that a dead
// agent leaves fall to the guardian, which kills them.
func guard(job string) error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become a child sub-reaper: %w", err)
	}
	token := newToken(job)
	// The agent's parent-death signal follows this thread.
	runtime.LockOSThread()
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("expected /proc, by which processes are found and ended there: %w", err)
	}
	pid, err := syscall.ForkExec("/proc/self/exe", []string{self, "agent", runVerb, token}, &syscall.ProcAttr{
		Env:   os.Environ(),
		Files: []uintptr{0, 1, 2},
		// TERM, not KILL: an agent without a guardian still ends its ranks
		// and what they have left.
		Sys: &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM},
	})
	if err != nil {
		return fmt.Errorf("start the agent: %w", err)
	}
	// What is sent to all processes of a name, or to the whole session, is the
	// agent's to act on. Only now, for the agent's start is waited for.
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE)
	// Only the agent may hold the stream: its death must end it.
	if err := parkStandardStreams(); err != nil {
		return err
	}
	status, err := waitFor(pid)
	if err != nil {
		return err
	}
	defer removeFolders(token)
	left := proc.KillDescendants(nil, timeNow().Add(proc.Patience))
	if status.Signaled() { // it did not come to remove its control group
		left = append(left, sweepGroups(token)...)
	}
	if len(left) > 0 {
		fmt.Fprintf(os.Stderr, "gorun agent: processes %v could not be killed\n", left)
	}
	if status.Signaled() {
		return fmt.Errorf("the agent was killed by %s", unix.SignalName(status.Signal()))
	}
	if status.ExitStatus() != 0 {
		return errAgentFailed
	}
	return nil
}

// errAgentFailed says that the agent has said why it failed.
var errAgentFailed = errors.New("the agent failed")

// waitFor reaps until pid has ended.
func waitFor(pid int) (syscall.WaitStatus, error) {
	for {
		var status syscall.WaitStatus
		got, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return status, fmt.Errorf("wait for the agent: %w", err)
		case got == pid:
			return status, nil
		}
	}
}
