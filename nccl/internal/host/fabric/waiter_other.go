//go:build unix && !linux

package fabric

import (
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// waiter blocks a thread until one of some descriptors is ready. Linux has one
// that parks a goroutine.
type waiter struct {
	mu     sync.Mutex
	pipe   [2]int // readable after wake
	closed bool
}

// newWaiter returns a waiter. It needs no list of descriptors.
func newWaiter(in, out []int) (*waiter, error) {
	w := &waiter{}
	if err := unix.Pipe(w.pipe[:]); err != nil {
		return nil, os.NewSyscallError("pipe", err)
	}
	for _, fd := range w.pipe {
		unix.CloseOnExec(fd)
		if err := unix.SetNonblock(fd, true); err != nil {
			w.close()
			return nil, os.NewSyscallError("fcntl", err)
		}
	}
	return w, nil
}

// wait blocks until in can be read, out can be written, or wake was called.
// Those of -1 are not waited for.
func (w *waiter) wait(in, out int) {
	fds := []unix.PollFd{{Fd: int32(w.pipe[0]), Events: unix.POLLIN}, {Fd: int32(in), Events: unix.POLLIN}, {Fd: int32(out), Events: unix.POLLOUT}}
	if n, err := unix.Poll(fds, -1); n > 0 && err == nil && fds[0].Revents != 0 {
		var woken [64]byte
		unix.Read(w.pipe[0], woken[:])
	}
}

// wake ends a wait, now or the next one.
func (w *waiter) wake() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed {
		unix.Write(w.pipe[1], []byte{1})
	}
}

func (w *waiter) close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed {
		w.closed = true
		unix.Close(w.pipe[0])
		unix.Close(w.pipe[1])
	}
	return nil
}
