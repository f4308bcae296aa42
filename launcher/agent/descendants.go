//go:build linux

package agent

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// killPatience bounds how long killed processes may take to go: one in an
// uninterruptible sleep, on a dead file server, stays for ever.
const killPatience = 2 * time.Second

// killDescendants kills every process below this one, which must be a child
// sub-reaper, and returns those that did not go. If there are any, it calls
// first, if not nil, in every round.
func killDescendants(first func()) (left []int) {
	return killAll(func() []int {
		left := descendants()
		if len(left) > 0 && first != nil {
			first()
		}
		return left
	})
}

// killAll kills what list returns until it returns nothing, and returns what
// did not go in time. Going round meets the race with fork: what was killed
// forks no more, so every round has fewer parents.
func killAll(list func() []int) (left []int) {
	end := timeNow().Add(killPatience)
	for {
		left = list()
		if len(left) == 0 || timeNow().After(end) {
			return left
		}
		for _, pid := range left {
			syscall.Kill(pid, syscall.SIGKILL)
		}
		awaitPIDs(left, end)
	}
}

// awaitPIDs blocks until every one of the processes has ended, or till the
// deadline. A zombie has ended.
func awaitPIDs(pids []int, deadline time.Time) {
	var waiting []unix.PollFd
	for _, pid := range pids {
		if fd, err := unix.PidfdOpen(pid, 0); err == nil {
			defer unix.Close(fd)
			waiting = append(waiting, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
		}
	}
	for len(waiting) > 0 {
		rest := time.Until(deadline)
		if rest <= 0 {
			return
		}
		if _, err := unix.Poll(waiting, int(rest/time.Millisecond)+1); err != nil && err != unix.EINTR {
			return
		}
		waiting = slices.DeleteFunc(waiting, func(p unix.PollFd) bool { return p.Revents != 0 })
	}
}

// descendants lists the living processes below this one, zombies aside. It
// must be a child sub-reaper: then a process without children has no
// descendants, which is the usual case and cheap to see.
func descendants() []int {
	if err := unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil); err == unix.ECHILD {
		return nil
	}
	children := map[int][]int{}
	zombie := map[int]bool{}
	for _, pid := range processes() {
		ppid, state, ok := parent(pid)
		if !ok {
			continue
		}
		children[ppid] = append(children[ppid], pid)
		zombie[pid] = state == 'Z' || state == 'X'
	}
	var all []int
	for queue := []int{os.Getpid()}; len(queue) > 0; queue = queue[1:] {
		for _, pid := range children[queue[0]] {
			queue = append(queue, pid)
			if !zombie[pid] {
				all = append(all, pid)
			}
		}
	}
	return all
}

// marked lists the processes whose environment says that they belong to job, or,
// where it was erased, what they have of it. A program can get rid of both, so
// this is the last way to find it.
func marked(job string) []int {
	doors := doors()
	return slices.DeleteFunc(processes(), func(pid int) bool {
		path := jobPathOf(pid)
		return pid == os.Getpid() || !onPath(path, job) && (path != "" || traced(pid, doors) != job)
	})
}

// sweepJob kills the processes of a job by their control group and by their
// environment, then its agents, one of which may hang, and removes its folders.
func sweepJob(job string) error {
	if job == "" {
		return errors.New("--sweep: expected a job id, found an empty one")
	}
	defer sweepFolders(job)
	left := sweepGroups(tokenPrefix(job))
	left = append(left, killAll(func() []int { return marked(job) })...)
	left = append(left, killAgents(job)...)
	if len(left) > 0 {
		return fmt.Errorf("processes %v of job %s could not be killed", left, job)
	}
	return nil
}

// killAgents kills the agents of a job and gives their guardians time to clean
// up behind them. It returns those that did not go.
func killAgents(job string) (left []int) {
	left = killAll(func() []int {
		return slices.DeleteFunc(ownProcesses(), func(pid int) bool {
			of, token := agentOf(pid)
			return of != job || token == "" || !alive(pid)
		})
	})
	guardians := func() []int {
		return slices.DeleteFunc(ownProcesses(), func(pid int) bool {
			of, token := agentOf(pid)
			return of != job || token != "" || !alive(pid)
		})
	}
	awaitPIDs(guardians(), timeNow().Add(killPatience))
	return append(left, killAll(guardians)...) // one that is stopped cleans up nothing
}
