package main

import (
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// ranksInput returns what ranks read: stdin, or nothing if that is a
// terminal whose foreground is somebody else's. A background process that
// reads its terminal is stopped by the kernel (termios(3), TTIN), and with it
// the whole job would stand still.
//
// A closed standard input needs no case: before main the runtime opens the
// null device in its place (checkfds in runtime/fds_unix.go).
func ranksInput(stdin *os.File) io.Reader {
	if !term.IsTerminal(int(stdin.Fd())) {
		return stdin
	}
	if !inForeground(stdin) {
		return nil
	}
	signal.Ignore(syscall.SIGTTIN)
	return terminal{stdin}
}

func inForeground(tty *os.File) bool {
	foreground, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && foreground == unix.Getpgrp()
}

// terminal is a terminal in whose background this process may come to be, by
// Ctrl-Z and bg. There reading fails, TTIN being ignored: Read returns nothing
// then, after a while, until the process is in the foreground again.
type terminal struct{ *os.File }

// backgroundLook bounds how often reading is tried in the background.
const backgroundLook = 100 * time.Millisecond

func (t terminal) Read(p []byte) (int, error) {
	n, err := t.File.Read(p)
	if !errors.Is(err, syscall.EIO) {
		return n, err
	}
	// A terminal that is gone fails alike, but has no foreground either.
	if _, gone := unix.IoctlGetInt(int(t.Fd()), unix.TIOCGPGRP); gone != nil {
		return n, err
	}
	time.Sleep(backgroundLook)
	return 0, nil
}
