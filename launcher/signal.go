package launcher

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// signalNumber returns the number of the signal called name, 0 for none.
func signalNumber(name string) int { return int(unix.SignalNum(name)) }

// signalName returns "SIGKILL" for 9.
func signalName(n int) string { return unix.SignalName(syscall.Signal(n)) }
