//go:build linux

package proc

import (
	"os"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Patience bounds how long killed processes may take to go: one in an
// uninterruptible sleep, on a dead file server, stays for ever.
const Patience = 2 * time.Second

// KillDescendants kills every process below this one, which must be a child
// sub-reaper, and returns those that did not go. If there are any, it calls
// first, if not nil, in every round.
func KillDescendants(first func(), deadline time.Time) (left []int) {
	return Kill(func() []int {
		left := Descendants()
		if len(left) > 0 && first != nil {
			first()
		}
		return left
	}, deadline)
}

// Kill kills what list returns until it returns nothing, and returns what did not
// go till the deadline. Going round meets the race with fork: what was killed forks
// no more, so every round has fewer parents. A process is held before list has named
// it for the second time, so that its number cannot become another's.
func Kill(list func() []int, deadline time.Time) (left []int) {
	for {
		left = list()
		if len(left) == 0 || time.Until(deadline) <= 0 {
			return left
		}
		killHeld(left, list, deadline)
	}
}

// killHeld kills those of the processes that list still returns, and waits for
// them until the deadline.
func killHeld(pids []int, list func() []int, deadline time.Time) {
	held := hold(pids)
	defer release(held)
	var waiting []unix.PollFd
	for _, pid := range list() {
		fd, ok := held[pid]
		switch {
		case !ok:
		case fd < 0:
			syscall.Kill(pid, syscall.SIGKILL)
		case unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) != unix.ESRCH:
			waiting = append(waiting, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
		}
	}
	await(waiting, deadline)
}

// hold returns descriptors of processes by their numbers, -1 where the kernel,
// older than Linux 5.3, has none. What has ended, or is one too many, is left out.
func hold(pids []int) map[int]int {
	held := map[int]int{}
	for _, pid := range pids {
		switch fd, err := unix.PidfdOpen(pid, 0); err {
		case nil:
			held[pid] = fd
		case unix.ENOSYS:
			held[pid] = -1
		}
	}
	return held
}

func release(held map[int]int) {
	for _, fd := range held {
		unix.Close(fd) // of -1 it only says so
	}
}

// Await blocks until every one of the processes has ended, or till the
// deadline. A zombie has ended.
func Await(pids []int, deadline time.Time) {
	held := hold(pids)
	defer release(held)
	var waiting []unix.PollFd
	for _, fd := range held {
		if fd >= 0 {
			waiting = append(waiting, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
		}
	}
	await(waiting, deadline)
}

// await does so for the descriptors of processes.
func await(waiting []unix.PollFd, deadline time.Time) {
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

// Descendants lists the living processes below this one, zombies aside. It
// must be a child sub-reaper: then a process without children has no
// descendants, which is the usual case and cheap to see.
func Descendants() []int {
	if err := unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil); err == unix.ECHILD {
		return nil
	}
	children := map[int][]int{}
	zombie := map[int]bool{}
	for _, pid := range All() {
		ppid, state, ok := Parent(pid)
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
