//go:build linux

package agent

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// sampled is how much of the beginning and of the end of a large file stands for
// its content. A linker puts the build ID near the beginning (GNU's note, Go's
// own), the tables of a build near the end.
const sampled = 256 << 10

// digest returns the beginning of a hash of a file's size and content, or, of a
// file of more than twice sampled, of what is sampled. It is "" if the file
// cannot be read, as a program that may only be executed.
func digest(path string) string {
	f, info, err := openRegular(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	h := sha256.New()
	fmt.Fprintln(h, info.Size())
	parts := []*io.SectionReader{io.NewSectionReader(f, 0, 2*sampled)}
	if info.Size() > 2*sampled {
		parts = []*io.SectionReader{io.NewSectionReader(f, 0, sampled), io.NewSectionReader(f, info.Size()-sampled, sampled)}
	}
	for _, part := range parts {
		if _, err := io.Copy(h, part); err != nil {
			return ""
		}
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:4])
}

// openRegular opens a regular file to read, and no other: to open a pipe blocks
// until there is a writer.
func openRegular(path string) (*os.File, os.FileInfo, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &os.PathError{Op: "read", Path: path, Err: errors.New("expected a regular file")}
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// systemFolders are where a distribution has its own programs: what is below
// them is alike on hosts of the same release only. /usr/local is the site's.
var systemFolders = []string{"/bin/", "/sbin/", "/lib/", "/lib64/", "/usr/bin/", "/usr/sbin/", "/usr/lib/", "/usr/lib64/", "/usr/libexec/"}

// ofSystem says whether a program is one of the distribution's, and no link to
// one of somebody else.
func ofSystem(path string) bool {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	return slices.ContainsFunc(systemFolders, func(folder string) bool { return strings.HasPrefix(path, folder) })
}

// interpreters are programs of which the first file among their arguments is
// what they run, by their names without a version.
var interpreters = []string{"python", "pypy", "julia", "perl", "ruby", "Rscript", "node", "lua", "bash", "sh", "zsh", "dash"}

// script returns the file that an interpreter runs, as it is named and where it
// is; "" if it runs something else.
func script(p *program, args []string) (name, file string) {
	interpreter := strings.TrimRight(filepath.Base(args[0]), "0123456789.")
	if !slices.Contains(interpreters, interpreter) {
		return "", ""
	}
	for _, arg := range args[1:] {
		if arg == "-c" || arg == "-m" || arg == "-e" || arg == "-" {
			return "", ""
		}
		if strings.HasPrefix(arg, "-") {
			continue
		}
		file := arg
		if !filepath.IsAbs(file) {
			file = filepath.Join(p.dir, file)
		}
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
			return arg, file
		}
	}
	return "", ""
}
