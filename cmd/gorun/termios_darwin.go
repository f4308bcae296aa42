package main

import "golang.org/x/sys/unix"

// The requests of tcgetattr and tcsetattr, which every system numbers its own way.
const (
	getTermios = unix.TIOCGETA
	setTermios = unix.TIOCSETA
)
