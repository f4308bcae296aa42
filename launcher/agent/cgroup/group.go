//go:build linux

package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Group is a group that [New] has made or [Find] has found.
type Group struct {
	path string
	dir  *os.File // nil: found
}

// New makes a group called name below parent, the folder of another one. The
// processes that go into it are those that are cloned with [Group.FD].
//
// The root of the hierarchy is refused: nobody delegates it. It has no
// cgroup.kill, nor has any group of a kernel before Linux 5.14.
func New(parent, name string) (*Group, error) {
	if parent == "" {
		return nil, errors.New("no control group of version 2 is visible")
	}
	// Who clones into the group moves a process there from parent, and needs
	// the right to do so in what both have in common.
	for file, right := range map[string]uint32{"cgroup.procs": unix.W_OK, "cgroup.kill": unix.F_OK} {
		if err := unix.Access(filepath.Join(parent, file), right); err != nil {
			return nil, &fs.PathError{Op: "access", Path: filepath.Join(parent, file), Err: err}
		}
	}
	path := filepath.Join(parent, name)
	if err := os.Mkdir(path, 0o755); err != nil {
		return nil, err
	}
	dir, err := os.Open(path)
	if err != nil {
		os.Remove(path)
		return nil, err
	}
	return &Group{path, dir}, nil
}

// FD returns the descriptor that [syscall.SysProcAttr].CgroupFD takes. The
// group must be one that New has made.
func (g *Group) FD() int { return int(g.dir.Fd()) }

// Path returns the group's folder.
func (g *Group) Path() string { return g.path }

// Owner returns the user who made the group.
func (g *Group) Owner() (uid int, err error) {
	info, err := os.Lstat(g.path)
	if err != nil {
		return 0, err
	}
	return int(info.Sys().(*syscall.Stat_t).Uid), nil
}

// Kill sends KILL to every process of the group and of those below it, at once:
// none can fork itself away.
func (g *Group) Kill() error {
	return os.WriteFile(filepath.Join(g.path, "cgroup.kill"), []byte("1"), 0)
}

// Processes returns the ids of the processes of the group and of those below.
func (g *Group) Processes() (pids []int) {
	filepath.WalkDir(g.path, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			pids = append(pids, members(path)...)
		}
		return nil
	})
	return pids
}

// Remove removes the group, which must be empty of all but zombies, with those
// that the job has made below it. A group that is gone is no error.
func (g *Group) Remove() error {
	if g.dir != nil {
		g.dir.Close()
	}
	return remove(g.path)
}

// maxGroups bounds how many groups Find looks at: a host has some thousands.
const maxGroups = 1 << 17

// Find returns the groups whose names have the prefix, wherever in the
// hierarchy they are: who looks for them may be in another group than who made
// them.
func Find(prefix string) (found []*Group) {
	top := Locate().Mount
	if top == "" {
		return nil
	}
	seen := 0
	filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return nil // another's, or gone meanwhile
		}
		if seen++; seen > maxGroups {
			return fs.SkipAll
		}
		if path == top || !strings.HasPrefix(d.Name(), prefix) {
			return nil
		}
		found = append(found, &Group{path: path})
		return fs.SkipDir
	})
	return found
}

// members lists a group's own processes.
func members(path string) (pids []int) {
	b, _ := os.ReadFile(filepath.Join(path, "cgroup.procs"))
	for line := range strings.Lines(string(b)) {
		// 0 is a process of another PID namespace.
		if pid, err := strconv.Atoi(strings.TrimSpace(line)); err == nil && pid > 0 {
			pids = append(pids, pid)
		}
	}
	return pids
}

// remove removes groups from the leaves on. Their files are not removed: they
// go with the folder.
func remove(path string) error {
	err := syscall.Rmdir(path)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	entries, _ := os.ReadDir(path)
	for _, e := range entries {
		if e.IsDir() {
			remove(filepath.Join(path, e.Name()))
		}
	}
	if err = syscall.Rmdir(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove control group %s: %w", path, err)
	}
	return nil
}
