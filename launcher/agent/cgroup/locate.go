//go:build linux

package cgroup

import (
	"os"
	"path"
	"strconv"
	"strings"
)

// Folders are where the groups of a process are in the file system. What is
// not visible from the process is "".
type Folders struct {
	Mount   string // where version 2 is mounted
	Unified string // its group of version 2
	Memory  string // its group of version 1's memory controller
}

// Locate finds the groups of this process.
func Locate() Folders {
	groups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return Folders{}
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return Folders{}
	}
	return locate(string(groups), string(mounts))
}

// locate reads /proc/PID/cgroup (cgroups(7)) and /proc/PID/mountinfo
// (proc_pid_mountinfo(5)).
func locate(groups, mounts string) (f Folders) {
	var unified, memory string // as paths within their hierarchy
	for line := range strings.Lines(groups) {
		// hierarchy:controllers:path
		hierarchy, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		controllers, group, _ := strings.Cut(rest, ":")
		switch {
		case hierarchy == "0" && controllers == "":
			unified = group
		case hasOption(controllers, "memory"):
			memory = group
		}
	}
	for line := range strings.Lines(mounts) {
		// id parent device root mountpoint options [optional…] - type source super
		own, system, _ := strings.Cut(line, " - ")
		fields, kind := strings.Fields(own), strings.Fields(system)
		if len(fields) < 6 || len(kind) < 3 {
			continue
		}
		root, point := unescape(fields[3]), unescape(fields[4])
		// A later mount covers an earlier one.
		switch {
		case kind[0] == "cgroup2":
			f.Mount = point
			f.Unified = below(unified, root, point, f.Unified)
		case kind[0] == "cgroup" && hasOption(kind[2], "memory"):
			f.Memory = below(memory, root, point, f.Memory)
		}
	}
	return f
}

// below returns the folder of group where the part of its hierarchy from root
// on is mounted at point, or otherwise if group is not in that part. A ".."
// leads out of the control group namespace, into what this process cannot name.
func below(group, root, point, otherwise string) string {
	rest, ok := strings.CutPrefix(group, strings.TrimSuffix(root, "/"))
	if !ok || group == "" || rest != "" && rest[0] != '/' ||
		hasParent(group) || hasParent(root) {
		return otherwise
	}
	return path.Join(point, rest)
}

func hasParent(p string) bool { return strings.Contains(p+"/", "/../") }

func hasOption(list, name string) bool {
	for option := range strings.SplitSeq(list, ",") {
		if option == name {
			return true
		}
	}
	return false
}

// unescape reads the octal escapes, "\040", that mountinfo has for white space
// and backslashes.
func unescape(s string) string {
	var b strings.Builder
	for {
		i := strings.IndexByte(s, '\\')
		if i < 0 || len(s) < i+4 {
			b.WriteString(s)
			return b.String()
		}
		n, err := strconv.ParseUint(s[i+1:i+4], 8, 8)
		b.WriteString(s[:i])
		if err != nil {
			b.WriteByte('\\')
			s = s[i+1:]
			continue
		}
		b.WriteByte(byte(n))
		s = s[i+4:]
	}
}
