//go:build linux

package agent

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

var errNotInPath = errors.New("not found in PATH")

// findProgram finds name as a shell would in dir: with a slash it is a path,
// else the first executable of that name in the folders of path.
func findProgram(name, dir, path string) (string, error) {
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		return name, executable(name)
	}
	var denied error
	for _, folder := range filepath.SplitList(path) {
		if folder == "" || !filepath.IsAbs(folder) {
			folder = filepath.Join(dir, folder) // POSIX: an empty entry is the current folder
		}
		candidate := filepath.Join(folder, name)
		err := executable(candidate)
		if err == nil {
			return candidate, nil
		}
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) && denied == nil {
			denied = err
		}
	}
	if denied != nil {
		return "", denied
	}
	return "", errNotInPath
}

// executable says why path cannot be executed.
func executable(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return &fs.PathError{Op: "exec", Path: path, Err: errors.New("it is a folder, expected a program")}
	}
	if !info.Mode().IsRegular() { // to open a pipe would block
		return &fs.PathError{Op: "exec", Path: path, Err: errors.New("it is not a regular file, expected a program")}
	}
	if err := unix.Access(path, unix.X_OK); err != nil {
		return &fs.PathError{Op: "exec", Path: path, Err: errors.New("it is not executable (chmod +x, or the file system is mounted noexec)")}
	}
	return nil
}

// folderExists says why path cannot be a working folder.
func folderExists(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return &fs.PathError{Op: "chdir", Path: path, Err: syscall.ENOTDIR}
	}
	if err := unix.Access(path, unix.X_OK); err != nil {
		return &fs.PathError{Op: "chdir", Path: path, Err: err}
	}
	return nil
}
