package topo

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// tree reads small files below a root folder, one after the other.
type tree struct {
	root string
	buf  [4096]byte // what the kernel writes at once into a file of /sys
}

func newTree(root string) *tree { return &tree{root: root} }

// text returns a file's content, at most a page of it, without the blanks around
// it, and reports whether it could be read. It takes half the time of os.ReadFile,
// which asks for the size and registers the file with the poller.
func (t *tree) text(name string) (string, bool) {
	fd, err := open(filepath.Join(t.root, name))
	if err != nil {
		return "", false
	}
	defer syscall.Close(fd)
	for {
		n, err := syscall.Read(fd, t.buf[:])
		if err == syscall.EINTR {
			continue
		}
		if err != nil || n < 0 {
			return "", false
		}
		return strings.TrimSpace(string(t.buf[:n])), true
	}
}

// open opens a file for reading.
func open(path string) (fd int, err error) {
	for {
		fd, err = syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
		if err != syscall.EINTR {
			return fd, err
		}
	}
}

// number returns the number that a file begins with, or missing.
func (t *tree) number(name string, missing int) int {
	s, _ := t.text(name)
	first, _, _ := strings.Cut(s, " ")
	n, err := strconv.Atoi(first)
	if err != nil {
		return missing
	}
	return n
}

// list returns the list of CPUs or nodes in a file, nil if there is none.
func (t *tree) list(name string) []int {
	s, _ := t.text(name)
	list, _ := ParseList(s)
	return list
}

// names returns the sorted names in a folder, at most maxDevices of them.
func (t *tree) names(folder string) []string {
	f, err := os.Open(filepath.Join(t.root, folder))
	if err != nil {
		return nil
	}
	defer f.Close()
	names, _ := f.Readdirnames(-1)
	slices.Sort(names)
	return names[:min(len(names), maxDevices)]
}

// link returns where a symbolic link points, "" if it is none.
func (t *tree) link(name string) string {
	target, _ := os.Readlink(filepath.Join(t.root, name))
	return target
}

// bounded returns s, cut where it is longer than any name.
func bounded(s string) string { return s[:min(len(s), maxText)] }
