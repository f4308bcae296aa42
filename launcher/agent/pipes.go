//go:build linux

package agent

import (
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/gorun/gorun/launcher/wire"
)

// pipes are the standard streams of a rank: descriptors for the rank, and the
// other ends.
type pipes struct {
	stdin, stdout, stderr  int      // the rank's side; -1: closed
	toStdin                sink     // nil: the rank sees end of file
	fromStdout, fromStderr int      // -1: none, or the caller's; the latter is none where both are one stream
	terminal               *os.File // in place of both; nil: the rank's side is no terminal
	said                   func()   // to be called after output of that; else nil
	held                   *os.File // keeps that from hanging up until it is closed; else nil
}

// noPipes is nothing yet.
func noPipes() *pipes {
	return &pipes{stdin: -1, stdout: -1, stderr: -1, fromStdout: -1, fromStderr: -1}
}

// newPipes makes the streams of a rank, with a standard input that we write or
// the null device's, and with one pipe for both outputs if they are to be merged:
// only the rank itself knows the order in which it writes.
func newPipes(stdin, merge bool) (p *pipes, err error) {
	p = noPipes()
	defer func() {
		if err != nil {
			p.close()
			p.closeChildSide()
		}
	}()
	if stdin {
		var w int
		if p.stdin, w, err = newPipe(); err == nil {
			// Ours does not block threads; the rank's end blocks, as programs expect.
			err = unix.SetNonblock(w, true)
			p.toStdin = pipeSink{os.NewFile(uintptr(w), "pipe")}
		}
	} else {
		p.stdin, err = unix.Open(os.DevNull, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	}
	if err == nil {
		p.fromStdout, p.stdout, err = newPipe()
	}
	switch {
	case err != nil:
	case merge:
		p.stderr, err = unix.FcntlInt(uintptr(p.stdout), unix.F_DUPFD_CLOEXEC, 0)
	default:
		p.fromStderr, p.stderr, err = newPipe()
	}
	return p, err
}

// newStreams makes the streams of one of this host's ranks.
func (a *agent) newStreams(rank int) (*pipes, error) {
	if slices.Contains(a.start.PTY, rank) {
		return newTerminal(a.start.Screen)
	}
	return newPipes(slices.Contains(a.start.Stdin, rank), a.start.Merge)
}

// connect forwards the streams of a rank that was started.
func (a *agent) connect(rank int, p *pipes) {
	if p.terminal != nil { // which stays the agent's to resize
		a.startPump(rank, wire.Stdout, p.terminal, p.said)
		a.mu.Lock()
		a.terminals = append(a.terminals, p.terminal)
		a.mu.Unlock()
	}
	a.forwardOutput(rank, wire.Stdout, p.fromStdout)
	a.forwardOutput(rank, wire.Stderr, p.fromStderr)
	switch {
	case slices.Contains(a.start.Stdin, rank):
		a.stdin.add(p.toStdin)
	case p.toStdin != nil: // a terminal of somebody who does not type
		p.toStdin.end() // into an empty buffer, so it does not block
		p.toStdin.Close()
	}
}

// newPipe makes a pipe.
func newPipe() (r, w int, err error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return -1, -1, os.NewSyscallError("pipe2", err)
	}
	return fds[0], fds[1], nil
}

// closeChildSide closes what the rank has inherited.
func (p *pipes) closeChildSide() { closeFDs(&p.stdin, &p.stdout, &p.stderr) }

func closeFDs(fds ...*int) {
	for _, fd := range fds {
		if *fd >= 0 {
			unix.Close(*fd)
			*fd = -1
		}
	}
}

// close closes the agent's side.
func (p *pipes) close() {
	if p.toStdin != nil {
		p.toStdin.Close()
	}
	closeFDs(&p.fromStdout, &p.fromStderr)
	p.terminal.Close() // of nil it only says so
	p.held.Close()
}
