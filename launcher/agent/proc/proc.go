//go:build linux

// Package proc finds, describes and kills processes by what /proc tells of them.
package proc

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// All lists the process ids of this PID namespace.
func All() []int {
	d, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer d.Close()
	names, _ := d.Readdirnames(-1)
	var pids []int
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// Own lists the processes that are this user's to end: root's are all.
func Own() []int {
	if os.Geteuid() == 0 {
		return All()
	}
	return slices.DeleteFunc(All(), func(pid int) bool {
		var stat unix.Stat_t
		err := unix.Stat(filepath.Join("/proc", strconv.Itoa(pid)), &stat)
		return err != nil || int(stat.Uid) != os.Geteuid()
	})
}

// statFields reads the fields of proc_pid_stat(5) from the state on; nil if the
// process is gone. The name before them may hold anything, so they count from its
// last parenthesis.
func statFields(pid int) []string {
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return nil
	}
	return strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
}

// Parent returns a process's parent and its own state.
func Parent(pid int) (ppid int, state byte, ok bool) {
	fields := statFields(pid)
	if len(fields) < 2 {
		return 0, 0, false
	}
	ppid, err := strconv.Atoi(fields[1])
	return ppid, fields[0][0], err == nil
}

// Alive says whether a process is neither gone nor a zombie.
func Alive(pid int) bool {
	_, state, ok := Parent(pid)
	return ok && state != 'Z' && state != 'X'
}

// Exiting reports whether a process has begun to end, as a zombie has too.
func Exiting(pid int) bool {
	fields := statFields(pid)
	if len(fields) < 7 {
		return false
	}
	flags, err := strconv.ParseUint(fields[6], 10, 32)
	return err == nil && flags&flagExiting != 0
}

// flagExiting is PF_EXITING of the kernel's include/linux/sched.h.
const flagExiting = 0x4

// CommandLine returns the words of a process, none if it has ended.
func CommandLine(pid int) []string {
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
	if err != nil || len(b) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(b), "\x00"), "\x00")
}

// ShortCommand is a command line as a list shows it.
func ShortCommand(words []string) string {
	const most = 100
	text := strings.ToValidUTF8(strings.Join(words, " "), "?")
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, text)
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most]) + "…"
	}
	return text
}
