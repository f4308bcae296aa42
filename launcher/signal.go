package launcher

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// signalNumber returns the number of the signal called name, 0 for none.
func signalNumber(name string) int { return int(unix.SignalNum(name)) }

// signalName returns "SIGKILL" for 9.
func signalName(n int) string { return unix.SignalName(syscall.Signal(n)) }

// ends says whether a signal to the launcher ends the job.
func ends(s os.Signal) bool {
	return s == syscall.SIGINT || s == syscall.SIGTERM || s == syscall.SIGHUP
}

func signalNameOf(s os.Signal) string {
	n, _ := s.(syscall.Signal)
	return signalName(int(n))
}
