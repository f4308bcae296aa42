//go:build linux

package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// An agent keeps its files in folders called by one token, each below a folder
// of the user. The guardian makes the token and removes the folders, so that
// they go even when the agent is killed; a sweep finds them by the job.

// newToken returns a name for the folders of one agent of a job. Two agents of
// a job may share a machine, or /dev/shm without sharing process ids.
func newToken(job string) string {
	return fmt.Sprintf("%s%d-%x", tokenPrefix(job), os.Getpid(), time.Now().UnixNano())
}

func tokenPrefix(job string) string { return "job-" + job + "-" }

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

// makeFolder makes the folder of token below the first base that is usable
// and, where programs shall be in it, executable. Its error says why each
// base is not.
func makeFolder(token string, bases []string, programs bool) (string, error) {
	var problems []error
	for _, base := range bases {
		folder := filepath.Join(base, token)
		err := makePrivate(base)
		if err == nil {
			err = makePrivate(folder)
		}
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

// makePrivate makes path a folder that only this user can enter, or checks
// that it is one: another user's folder of that name, or a symbolic link,
// would let them replace what we keep there.
func makePrivate(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
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
