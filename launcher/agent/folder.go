//go:build linux

package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// An agent keeps its files in folders called by one token, each below a folder
// of the user. The guardian makes the token and removes the folders, so that
// they go even when the agent is killed; a sweep finds them by the job.
//
// The agent holds a lock in each of them for as long as it lives, which is how
// gorun clean tells a folder in use from a lost one, also from within another
// container that sees the same /dev/shm but not the agent.

// newToken returns a name for the folders of one agent of a job. Two agents of
// a job may share a machine, or /dev/shm without sharing process ids.
func newToken(job string) string {
	return fmt.Sprintf("%s%d-%x", tokenPrefix(job), os.Getpid(), timeNow().UnixNano())
}

const tokenStart = "job-"

func tokenPrefix(job string) string { return tokenStart + job + "-" }

// jobOf returns the job whose agent has the token, "" if it is none.
func jobOf(token string) string {
	rest, ok := strings.CutPrefix(token, tokenStart)
	for range 2 { // the process id and the time
		i := strings.LastIndexByte(rest, '-')
		if !ok || i < 0 {
			return ""
		}
		rest = rest[:i]
	}
	return rest
}

// bases lists the user's folders, for sockets first: short, local, and in
// memory, where making and removing a folder takes microseconds; on a disk it
// can be a tenth of a small job's time.
func bases() []string {
	name := "gorun-" + strconv.Itoa(os.Getuid())
	list := []string{"/dev/shm/" + name, "/tmp/" + name, "/var/tmp/" + name}
	if cache, err := os.UserCacheDir(); err == nil {
		list = append(list, filepath.Join(cache, "gorun"))
	}
	return list
}

// basesOfAll lists the folders of all users that are this one's to look into:
// root's are those in memory and in temporary folders. Each must be its user's
// own, since another could have it lead elsewhere.
func basesOfAll() []string {
	list := bases()
	if os.Geteuid() != 0 {
		return list
	}
	for _, parent := range []string{"/dev/shm", "/tmp", "/var/tmp"} {
		found, _ := filepath.Glob(filepath.Join(parent, "gorun-[0-9]*"))
		for _, base := range found {
			var stat unix.Stat_t
			if unix.Lstat(base, &stat) == nil && stat.Mode&unix.S_IFMT == unix.S_IFDIR &&
				filepath.Base(base) == "gorun-"+strconv.Itoa(int(stat.Uid)) && !slices.Contains(list, base) {
				list = append(list, base)
			}
		}
	}
	return list
}

// folders are those that one agent has made.
type folders struct {
	token string

	mu    sync.Mutex
	locks map[string]*os.File // by base
}

// make makes the agent's folder below the first base that is usable and, where
// programs shall be in it, executable, unless it is there. Its error says why
// each base is not.
func (f *folders) make(bases []string, programs bool) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var problems []error
	for _, base := range bases {
		folder := filepath.Join(base, f.token)
		err := f.makeLocked(base)
		if err == nil && programs {
			err = executableFolder(folder)
		}
		if err == nil {
			return folder, nil
		}
		problems = append(problems, err)
	}
	return "", errors.Join(problems...)
}

// unborn is put before the name of a folder that is not locked yet.
const unborn = "new-"

// lockName is the file in an agent's folder that it holds a lock of.
const lockName = "lock"

// makeLocked makes the folder below base. It gets its name when it is locked:
// nobody sees it without.
func (f *folders) makeLocked(base string) error {
	if f.locks[base] != nil {
		return nil
	}
	if err := makePrivate(base); err != nil {
		return err
	}
	early := filepath.Join(base, unborn+f.token)
	if err := os.Mkdir(early, 0o700); err != nil {
		return err
	}
	lock, err := os.OpenFile(filepath.Join(early, lockName), os.O_CREATE|os.O_RDWR, 0o600)
	if err == nil {
		_, err = lock.WriteString(bootID())
		// File systems without locks have folders that no clean removes.
		unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	}
	if err == nil {
		err = os.Rename(early, filepath.Join(base, f.token))
	}
	if err != nil {
		if lock != nil {
			lock.Close()
		}
		os.RemoveAll(early)
		return err
	}
	if f.locks == nil {
		f.locks = map[string]*os.File{}
	}
	f.locks[base] = lock
	return nil
}

// remove removes the folders and gives up their locks.
func (f *folders) remove() {
	removeFolders(f.token)
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, lock := range f.locks {
		lock.Close()
	}
	f.locks = nil
}

// bootID identifies this run of this machine's kernel, "" if it is not known.
func bootID() string {
	b, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(b))
}

// makePrivate makes path a folder that only this user can enter, or checks
// that it is one: another user's folder of that name, or a symbolic link,
// would let them replace what we keep there.
func makePrivate(path string) error {
	// ~/.cache may be missing, but a home that does is not for us to make.
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	stat := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || info.Mode().Perm()&0o077 != 0 || int(stat.Uid) != os.Getuid() {
		return fmt.Errorf("%s: expected a folder of user %d with mode 0700, found %s of user %d",
			path, os.Getuid(), info.Mode(), stat.Uid)
	}
	return unix.Access(path, unix.W_OK)
}

// executableFolder says whether the file system runs programs.
func executableFolder(folder string) error {
	probe := filepath.Join(folder, "probe")
	defer os.Remove(probe)
	if err := os.WriteFile(probe, nil, 0o700); err != nil {
		return err
	}
	if err := unix.Access(probe, unix.X_OK); err != nil {
		return fmt.Errorf("%s: programs cannot run there: %w", folder, err)
	}
	return nil
}

// removeFolders removes every folder of token.
func removeFolders(token string) {
	for _, base := range bases() {
		os.RemoveAll(filepath.Join(base, token))
		os.RemoveAll(filepath.Join(base, unborn+token))
		os.Remove(base) // only if it is empty: another job may be there
	}
}

// sweepFolders removes the folders of every agent of a job.
func sweepFolders(job string) {
	for _, base := range bases() {
		entries, _ := os.ReadDir(base)
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), tokenPrefix(job)) {
				os.RemoveAll(filepath.Join(base, e.Name()))
			}
		}
		os.Remove(base)
	}
}
