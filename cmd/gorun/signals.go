package main

import (
	"os"
	"os/signal"
	"syscall"
)

// watchSignals returns the signals that a job is told of, until stop is
// called. The launcher decides what each of them does.
func watchSignals() (signals <-chan os.Signal, stop func()) {
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
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE)
	return c, func() {
		signal.Stop(c)
		signal.Stop(pipe)
	}
}
