//go:build linux

package agent

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// takeStream moves the launcher's stream away from descriptors 0 and 1, which
// libraries and children write to without thinking.
func takeStream() (s stream, err error) {
	for fd, name := range []string{"standard input", "standard output"} {
		moved, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3)
		if err == nil {
			err = unix.SetNonblock(moved, true) // so that Close ends a blocked read
		}
		if err != nil {
			return s, fmt.Errorf("take over %s: %w", name, err)
		}
		s[fd] = os.NewFile(uintptr(moved), name)
	}
	return s, parkStandardStreams()
}

// stream joins the two halves of the launcher's stream.
type stream [2]*os.File

func (s stream) Read(p []byte) (int, error)  { return s[0].Read(p) }
func (s stream) Write(p []byte) (int, error) { return s[1].Write(p) }
func (s stream) Close() error                { return errors.Join(s[0].Close(), s[1].Close()) }

// parkStandardStreams points standard input at the null device and standard
// output at standard error.
func parkStandardStreams() error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	if err := unix.Dup3(int(null.Fd()), 0, 0); err != nil {
		return err
	}
	return unix.Dup3(2, 1, 0)
}
