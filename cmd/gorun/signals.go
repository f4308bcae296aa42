package main

import (
	"os"
	"os/signal"
	"syscall"
)

// watchSignals returns the signals that a job is told of. The launcher decides what
// each of them does. They are caught for the rest of this process, which ends with
// its job: to let go of one takes the runtime four switches of threads.
func watchSignals() <-chan os.Signal {
	told := []os.Signal{
		syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT,
		syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH,
	}
	// What is ignored at the start stays so: HUP is nohup's wish, TSTP that of
	// a shell without job control.
	for _, s := range []os.Signal{syscall.SIGHUP, syscall.SIGTSTP} {
		if !signal.Ignored(s) {
			told = append(told, s)
		}
	}
	// Room for more signals than a person sends while the launcher is busy.
	c := make(chan os.Signal, 16)
	signal.Notify(c, told...)
	// A write to a closed pipe shall return EPIPE also for the standard
	// streams, where the runtime else dies of the signal (os/signal, SIGPIPE).
	// It is caught rather than ignored, because agents that are our children
	// would inherit that it is ignored.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	return c
}
