//go:build linux

package cgroup

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// OOMKills returns how often the kernel's out-of-memory killer has struck
// within the groups of f; ok is false if no counter can be read. Version 2
// counts in memory.events, the groups below included; version 1 in
// memory.oom_control, those below not.
func (f Folders) OOMKills() (n int, ok bool) {
	if f.Unified != "" {
		if n, ok := counter(filepath.Join(f.Unified, "memory.events")); ok {
			return n, true
		}
	}
	if f.Memory != "" {
		return counter(filepath.Join(f.Memory, "memory.oom_control"))
	}
	return 0, false
}

// HostOOMKills is OOMKills for the whole host, containers and all.
func HostOOMKills() (n int, ok bool) { return counter("/proc/vmstat") }

// counter reads the line "oom_kill N", which is written alike in all of them.
func counter(file string) (n int, ok bool) {
	b, err := os.ReadFile(file)
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(b)) {
		if value, found := strings.CutPrefix(line, "oom_kill "); found {
			n, err = strconv.Atoi(strings.TrimSpace(value))
			return n, err == nil
		}
	}
	return 0, false
}
