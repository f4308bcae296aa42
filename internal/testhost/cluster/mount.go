//go:build linux

package cluster

import (
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// A folder is a host's private file system in memory.
type folder struct {
	Path   string
	Mode   uint32
	NoExec bool
	Size   int64 // bytes; 0 is the kernel's default, half of the memory
}

// privateFolders is where programs write: each host has its own.
var privateFolders = []folder{
	{Path: "/tmp", Mode: 0o1777},
	{Path: "/var/tmp", Mode: 0o1777},
	{Path: "/var/log", Mode: 0o755},
	{Path: "/dev/shm", Mode: 0o1777},
	{Path: "/run", Mode: 0o755},
	{Path: "/home", Mode: 0o755},
	{Path: "/root", Mode: 0o711}, // passable, as a shared folder may lie below
}

// hostFolder holds what the test host itself needs.
const hostFolder = "/run/testhost"

// folders returns the private folders of a host with its variant applied.
func (v *Variant) folders() []folder {
	folders := slices.Clone(privateFolders)
	for i, f := range folders {
		folders[i].NoExec = slices.Contains(v.NoExec, f.Path)
		folders[i].Size = v.Size[f.Path]
	}
	return folders
}

// mount gives the host its private folders, its own view of processes, devices
// and network, and the shared folders.
func (s *settings) mount() error {
	// Nothing mounted here may reach the machine.
	if err := mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	// What is to be seen through a private folder is opened before that hides it.
	shared := make(map[string]*os.File)
	for _, path := range s.Share {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		shared[path] = f
	}
	const cgroups = "/sys/fs/cgroup"
	cgroup, err := os.Open(cgroups)
	if err != nil {
		return err
	}
	defer cgroup.Close()

	for _, f := range s.Folders {
		var flags uintptr = unix.MS_NOSUID | unix.MS_NODEV
		if f.NoExec {
			flags |= unix.MS_NOEXEC
		}
		options := fmt.Sprintf("mode=%o", f.Mode)
		if f.Size > 0 {
			options += fmt.Sprintf(",size=%d", f.Size)
		}
		if err := mount("tmpfs", f.Path, "tmpfs", flags, options); err != nil {
			return err
		}
	}
	for path, f := range shared {
		if err := os.MkdirAll(path, 0o755); err != nil {
			return err
		}
		if err := bind(f, path); err != nil {
			return err
		}
	}
	const inert = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	// sysfs shows the interfaces of the network namespace it was mounted in.
	if err := mount("sysfs", "/sys", "sysfs", inert, ""); err != nil {
		return err
	}
	if err := bind(cgroup, cgroups); err != nil {
		return err
	}
	if err := mount("devpts", "/dev/pts", "devpts", unix.MS_NOSUID|unix.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=620,gid=5"); err != nil {
		return err
	}
	return mount("proc", "/proc", "proc", inert, "")
}

// protect makes the machine's own files read-only, so that a program which runs
// as root on a host cannot spoil them.
func protect() error {
	return mount("", "/", "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, "")
}

func mount(source, target, kind string, flags uintptr, options string) error {
	if err := unix.Mount(source, target, kind, flags, options); err != nil {
		return fmt.Errorf("mount %s: %w", target, err)
	}
	return nil
}

// bind shows an open file or folder at the target too, with all mounts below.
func bind(f *os.File, target string) error {
	return mount(fmt.Sprintf("/proc/self/fd/%d", f.Fd()), target, "", unix.MS_BIND|unix.MS_REC, "")
}
