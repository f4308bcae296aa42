//go:build linux

package agent

import (
	"fmt"
	"os"
	"strconv"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/gorun/gorun/launcher/wire"
)

// newTerminal makes the streams of a rank that has a pseudo-terminal (pty(7)),
// all three of them its slave side. Like every terminal it echoes, edits lines
// and ends them with CR LF until the rank asks for something else.
func newTerminal(size wire.Resize) (p *pipes, err error) {
	p = noPipes()
	defer func() {
		if err != nil {
			p.close()
			p.closeChildSide()
		}
	}()
	master, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return p, fmt.Errorf("open a pseudo-terminal: %w", err)
	}
	p.terminal = os.NewFile(uintptr(master), "/dev/ptmx")
	if err := unix.IoctlSetPointerInt(master, unix.TIOCSPTLCK, 0); err != nil {
		return p, fmt.Errorf("unlock a pseudo-terminal: %w", err)
	}
	number, err := unix.IoctlGetInt(master, unix.TIOCGPTN)
	if err != nil {
		return p, fmt.Errorf("find a pseudo-terminal's other side: %w", err)
	}
	if err := setSize(master, size); err != nil {
		return p, fmt.Errorf("set a pseudo-terminal's size: %w", err)
	}
	slave := "/dev/pts/" + strconv.Itoa(number)
	if p.stdin, err = unix.Open(slave, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0); err != nil {
		return p, fmt.Errorf("open %s: %w", slave, err)
	}
	for _, fd := range []*int{&p.stdout, &p.stderr} {
		if *fd, err = unix.FcntlInt(uintptr(p.stdin), unix.F_DUPFD_CLOEXEC, 0); err != nil {
			return p, os.NewSyscallError("fcntl", err)
		}
	}
	// Descriptors of their own, for each side may end before the other, and both
	// before a rank that has closed its streams: when the last of these closes,
	// the kernel sends the rank HUP.
	input, err := unix.FcntlInt(uintptr(master), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return p, os.NewSyscallError("fcntl", err)
	}
	held, err := unix.FcntlInt(uintptr(master), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		unix.Close(input)
		return p, os.NewSyscallError("fcntl", err)
	}
	p.held = os.NewFile(uintptr(held), "/dev/ptmx")
	sink := &terminalSink{File: os.NewFile(uintptr(input), "/dev/ptmx")}
	p.toStdin, p.said = sink, func() { sink.remind(p.terminal) }
	return p, nil
}

func setSize(fd int, size wire.Resize) error {
	return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: uint16(size.Rows), Col: uint16(size.Columns)})
}

// resize gives the ranks' terminals another size. The kernel tells the
// processes in their foreground (SIGWINCH).
func (a *agent) resize(size *wire.Resize) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, t := range a.terminals {
		if raw, err := t.SyscallConn(); err == nil {
			raw.Control(func(fd uintptr) { setSize(int(fd), *size) }) // an error means that the rank is gone
		}
	}
}

// terminalSink is the master side of a terminal from which a rank reads.
type terminalSink struct {
	*os.File
	midLine bool
	ended   atomic.Bool // the end was typed for the kernel's line editing
}

func (t *terminalSink) Write(p []byte) (int, error) {
	n, err := t.File.Write(p)
	if n > 0 {
		t.midLine = p[n-1] != '\n'
	}
	return n, err
}

// end types what means the end of the input at the beginning of a line; within
// one it only sends the line off, so it takes another. A rank that edits lines
// itself takes the same for the end of its input.
func (t *terminalSink) end() error {
	raw, err := t.SyscallConn()
	if err != nil {
		return err
	}
	var end []byte
	raw.Control(func(fd uintptr) {
		eof, canonical, err := endOfInput(fd)
		if err != nil {
			return
		}
		end = []byte{eof}
		if canonical && t.midLine {
			end = append(end, eof)
		}
		t.ended.Store(canonical)
	})
	_, err = t.File.Write(end)
	return err
}

// remind types the end of the input again to a rank that has turned the
// kernel's line editing off since: it reads a NUL for the first. Such a rank
// shows its prompt then, so this is for the time after output. It does not wait
// for room in the terminal.
func (t *terminalSink) remind(master *os.File) {
	if !t.ended.Load() {
		return
	}
	raw, err := master.SyscallConn()
	if err != nil {
		return
	}
	raw.Control(func(fd uintptr) {
		eof, canonical, err := endOfInput(fd)
		if err == nil && !canonical && t.ended.CompareAndSwap(true, false) {
			unix.Write(int(fd), []byte{eof})
		}
	})
}

// endOfInput returns the character that ends a terminal's input, and whether
// the kernel edits its lines, for which alone that is more than a character.
func endOfInput(fd uintptr) (eof byte, canonical bool, err error) {
	state, err := unix.IoctlGetTermios(int(fd), unix.TCGETS)
	if err != nil {
		return 0, false, err
	}
	return state.Cc[unix.VEOF], state.Lflag&unix.ICANON != 0, nil
}
