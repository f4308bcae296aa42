package launcher

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/gorun/gorun/launcher/verdict"
)

// abandonOutput gives up what nobody takes.
func (l *launch) abandonOutput() {
	l.printer.abandon()
	for _, h := range l.hosts {
		h.pipes.cut()
	}
}

// outputEnded gives the terminal back when all that its rank wrote is there. It
// is called by the printer's goroutine.
func (l *launch) outputEnded(rank int) {
	if rank == l.screenRank() {
		l.screen.release()
	}
}

// outputFailed is told of a writer's error, by the printer's goroutine.
func (l *launch) outputFailed(err error) {
	select {
	case l.writeError <- err:
	default: // one is enough
	}
}

// writeFailed ends a job whose output nobody takes any more. A closed pipe is
// how a reader says that it has seen enough; a closed terminal hangs up, and the
// write may be quicker than the signal. Output that was lost makes a failure
// even of a job that has ended well.
func (l *launch) writeFailed(err error) {
	switch {
	case errors.Is(err, syscall.EPIPE):
		err = &SignalError{"SIGPIPE"}
	case errors.Is(err, syscall.EIO) && (isDevice(l.job.Streams.Stdout) || isDevice(l.job.Streams.Stderr)):
		err = &SignalError{"SIGHUP"} // which is on its way
	default:
		err = fmt.Errorf("write the output of the ranks: %w", err)
	}
	l.verdict.Take(verdict.OutputLost{Why: err})
	l.stop(syscall.SIGTERM, l.job.Limits.grace())
}

// isDevice says whether a writer ends in a character device. When that fails,
// it is a terminal that was closed.
func isDevice(w io.Writer) bool {
	f, ok := w.(interface{ Stat() (os.FileInfo, error) })
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
