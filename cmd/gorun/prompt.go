package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gorun/gorun/launcher"
)

// prompt asks the user on the controlling terminal, one question at a time:
// hosts are reached all at once.
type prompt struct {
	free chan struct{} // holds one token, taken while a question stands
}

func newPrompt() *prompt {
	p := &prompt{free: make(chan struct{}, 1)}
	p.free <- struct{}{}
	return p
}

// errNoTerminal is the answer where nobody can be asked.
var errNoTerminal = errors.New("there is no terminal to ask on; ssh-add lets the SSH agent answer")

// ask puts a question and blocks for the answer, or until ctx ends.
func (p *prompt) ask(ctx context.Context, q launcher.Question) ([]byte, error) {
	select {
	case <-p.free:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { p.free <- struct{}{} }()

	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return nil, errNoTerminal
	}
	defer tty.Close()
	restore, err := prepare(tty, q.Echo)
	if err != nil {
		return nil, errNoTerminal
	}
	defer restore()
	// The deadline makes Read return. It needs a system whose poller takes
	// terminals; where there is none, the question stands until it is answered.
	defer context.AfterFunc(ctx, func() { tty.SetReadDeadline(time.Now()) })()

	fmt.Fprintf(tty, "gorun: %s: %s ", q.Host, q.Text)
	answer, err := bufio.NewReader(tty).ReadBytes('\n')
	if !q.Echo {
		fmt.Fprintln(tty)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return bytes.TrimRight(answer, "\r\n"), err
}

// prepare turns a terminal's echo on or off, and line editing on, until restore.
// x/term's ReadPassword does the same for secrets, but cannot be interrupted.
func prepare(tty *os.File, echo bool) (restore func(), err error) {
	conn, err := tty.SyscallConn() // Fd would take the file from the poller
	if err != nil {
		return nil, err
	}
	var before *unix.Termios
	if err := conn.Control(func(fd uintptr) {
		if before, err = unix.IoctlGetTermios(int(fd), getTermios); err != nil {
			return
		}
		state := *before
		state.Lflag &^= unix.ECHO
		if echo {
			state.Lflag |= unix.ECHO
		}
		state.Lflag |= unix.ICANON | unix.ISIG
		state.Iflag |= unix.ICRNL
		err = unix.IoctlSetTermios(int(fd), setTermios, &state)
	}); err != nil {
		return nil, err
	}
	return func() {
		conn.Control(func(fd uintptr) { unix.IoctlSetTermios(int(fd), setTermios, before) })
	}, err
}
