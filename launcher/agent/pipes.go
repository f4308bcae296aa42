//go:build linux

package agent

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// pipes are the standard streams of a rank: descriptors for the rank, files
// for the agent.
type pipes struct {
	stdin, stdout, stderr  int      // the rank's side; -1: closed
	toStdin                *os.File // nil: the rank sees end of file
	fromStdout, fromStderr *os.File // the latter is nil where both are one stream
}

// Larger pipes spare two thirds of the switches between a rank that prints a
// lot and the agent. The kernel gives a user 64 MiB of them and then only
// crumbs (fs.pipe-user-pages-soft), so hosts with many ranks go without.
const (
	roomyPipe  = 256 << 10
	roomyRanks = 32
)

// newPipes makes the streams of one of so many ranks on this host, with a
// standard input that we write or the null device's, and with one pipe for
// both outputs if they are to be merged: only the rank itself knows the order
// in which it writes.
func newPipes(stdin, merge bool, ranks int) (p *pipes, err error) {
	p = &pipes{stdin: -1, stdout: -1, stderr: -1}
	defer func() {
		if err != nil {
			p.close()
			p.closeChildSide()
		}
	}()
	if stdin {
		p.stdin, p.toStdin, err = newPipe(1)
	} else {
		p.stdin, err = unix.Open(os.DevNull, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	}
	if err == nil {
		p.stdout, p.fromStdout, err = newPipe(0)
	}
	switch {
	case err != nil:
	case merge:
		p.stderr, err = unix.FcntlInt(uintptr(p.stdout), unix.F_DUPFD_CLOEXEC, 0)
	default:
		p.stderr, p.fromStderr, err = newPipe(0)
	}
	if err == nil && ranks <= roomyRanks {
		for _, fd := range []int{p.stdout, p.stderr} {
			unix.FcntlInt(uintptr(fd), unix.F_SETPIPE_SZ, roomyPipe) // refused: it works as it is
		}
	}
	return p, err
}

// newPipe makes a pipe and keeps the given end for the agent, where it does
// not block threads; the rank's end blocks, as programs expect.
func newPipe(ours int) (theirs int, file *os.File, err error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return -1, nil, os.NewSyscallError("pipe2", err)
	}
	if err := syscall.SetNonblock(fds[ours], true); err != nil {
		unix.Close(fds[0])
		unix.Close(fds[1])
		return -1, nil, os.NewSyscallError("fcntl", err)
	}
	return fds[1-ours], os.NewFile(uintptr(fds[ours]), "pipe"), nil
}

// closeChildSide closes what the rank has inherited.
func (p *pipes) closeChildSide() {
	for _, fd := range []*int{&p.stdin, &p.stdout, &p.stderr} {
		if *fd >= 0 {
			unix.Close(*fd)
			*fd = -1
		}
	}
}

// close closes the agent's side.
func (p *pipes) close() {
	for _, f := range []*os.File{p.toStdin, p.fromStdout, p.fromStderr} {
		if f != nil {
			f.Close()
		}
	}
}
