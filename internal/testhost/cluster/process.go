//go:build linux

package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// A Process is one process of a host.
type Process struct {
	PID  int      // its number on the host
	UID  int      // effective user
	Args []string // its command line; for one without, its name in brackets
}

// String returns the process as ps shows it.
func (p Process) String() string {
	return fmt.Sprintf("%d %s", p.PID, strings.Join(p.Args, " "))
}

// Processes returns the host's processes in the order of their numbers, but for
// its first one and the listening sshd, which are always there, and for zombies,
// which are but an exit status that nobody has asked for. The sshd processes of
// a login are included.
func (h *Host) Processes() ([]Process, error) {
	names, err := fs.ReadDir(h.Root.FS(), "proc")
	if err != nil {
		return nil, fmt.Errorf("processes of %s: %w", h.Name, err)
	}
	var all []Process
	for _, name := range names {
		pid, err := strconv.Atoi(name.Name())
		if err != nil || pid == 1 {
			continue
		}
		p, ok, err := h.process(pid)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			continue // ended since the folder was read
		}
		if err != nil {
			return nil, fmt.Errorf("process %d of %s: %w", pid, h.Name, err)
		}
		if ok {
			all = append(all, p)
		}
	}
	slices.SortFunc(all, func(a, b Process) int { return a.PID - b.PID })
	return all, nil
}

// process reads what /proc says of a process. It reports false for one that
// Processes leaves out.
func (h *Host) process(pid int) (Process, bool, error) {
	dir := path.Join("proc", strconv.Itoa(pid))
	status, err := h.Root.ReadFile(path.Join(dir, "status"))
	if err != nil {
		return Process{}, false, err
	}
	cmdline, err := h.Root.ReadFile(path.Join(dir, "cmdline"))
	if err != nil {
		return Process{}, false, err
	}
	// proc_pid_status(5): one "Key:\tvalue" a line; Uid is real, effective, ….
	fields := make(map[string][]string)
	for line := range strings.Lines(string(status)) {
		if key, value, ok := strings.Cut(line, ":"); ok {
			fields[key] = strings.Fields(value)
		}
	}
	name, state, parent, uid := fields["Name"], fields["State"], fields["PPid"], fields["Uid"]
	if len(name) == 0 || len(state) == 0 || len(parent) == 0 || len(uid) < 2 {
		return Process{}, false, fmt.Errorf("unexpected status %q", status)
	}
	p := Process{PID: pid}
	if p.UID, err = strconv.Atoi(uid[1]); err != nil {
		return Process{}, false, fmt.Errorf("unexpected status %q", status)
	}
	if cmdline = bytes.TrimRight(cmdline, "\x00"); len(cmdline) > 0 {
		p.Args = strings.Split(string(cmdline), "\x00")
	} else {
		p.Args = []string{"[" + strings.Join(name, " ") + "]"}
	}
	zombie := state[0] == "Z" || state[0] == "X"
	listener := parent[0] == "1" && strings.Contains(strings.Join(p.Args, " "), sshdConfig)
	return p, !zombie && !listener, nil
}

// Signal sends a signal to a process by its number on the host. An unknown
// number is an error that is fs.ErrNotExist.
func (h *Host) Signal(pid int, signal syscall.Signal) error {
	// An open folder of /proc names a process like a pidfd does
	// (pidfd_send_signal(2)), and unlike a number it means the same here.
	dir, err := h.Root.Open(path.Join("proc", strconv.Itoa(pid)))
	if err != nil {
		return fmt.Errorf("process %d of %s: %w", pid, h.Name, err)
	}
	defer dir.Close()
	if err := unix.PidfdSendSignal(int(dir.Fd()), signal, nil, 0); err != nil {
		return fmt.Errorf("process %d of %s: %w", pid, h.Name, err)
	}
	return nil
}
