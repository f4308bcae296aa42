//go:build linux

package agent

import (
	"os"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/gorun/gorun/launcher/wire"
)

// pipes are the standard streams of a rank: descriptors for the rank, files
// for the agent.
type pipes struct {
	stdin, stdout, stderr  int      // the rank's side; -1: closed
	toStdin                sink     // nil: the rank sees end of file
	fromStdout, fromStderr *os.File // the latter is nil where both are one stream
	terminal               bool     // the rank's side is a terminal
	said                   func()   // to be called after output of that; else nil
	held                   *os.File // keeps that from hanging up until it is closed; else nil
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
		var w *os.File
		if p.stdin, w, err = newPipe(1); err == nil {
			p.toStdin = pipeSink{w}
		}
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

// newStreams makes the streams of one of this host's ranks.
func (a *agent) newStreams(rank int) (*pipes, error) {
	if slices.Contains(a.start.PTY, rank) {
		return newTerminal(a.start.Screen)
	}
	return newPipes(slices.Contains(a.start.Stdin, rank), a.start.Merge, len(a.host().Ranks))
}

// connect forwards the streams of a rank that was started.
func (a *agent) connect(rank int, p *pipes) {
	if p.terminal { // which stays the agent's to resize
		a.startPump(rank, wire.Stdout, p.fromStdout, p.said)
	} else {
		a.forwardOutput(rank, wire.Stdout, p.fromStdout)
	}
	if p.fromStderr != nil {
		a.forwardOutput(rank, wire.Stderr, p.fromStderr)
	}
	switch {
	case slices.Contains(a.start.Stdin, rank):
		a.stdin.add(p.toStdin)
	case p.toStdin != nil: // a terminal of somebody who does not type
		p.toStdin.end() // into an empty buffer, so it does not block
		p.toStdin.Close()
	}
	if p.terminal {
		a.mu.Lock()
		a.terminals = append(a.terminals, p.fromStdout)
		a.mu.Unlock()
	}
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
	if p.toStdin != nil {
		p.toStdin.Close()
	}
	p.fromStdout.Close() // of nil it only says so
	p.fromStderr.Close()
	p.held.Close()
}
