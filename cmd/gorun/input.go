package main

import (
	"io"
	"os"

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
	fd := int(stdin.Fd())
	if !term.IsTerminal(fd) {
		return stdin
	}
	foreground, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
	if err != nil || foreground != unix.Getpgrp() {
		return nil
	}
	return stdin
}
