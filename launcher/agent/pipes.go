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
	fromStdout, fromStderr *os.File
}

func newPipes(stdin bool) (p *pipes, err error) {
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
	if err == nil {
		p.stderr, p.fromStderr, err = newPipe(0)
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
