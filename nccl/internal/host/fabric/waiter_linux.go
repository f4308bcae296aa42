package fabric

import (
	"errors"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// waiter parks a goroutine until one of some descriptors is ready.
//
// They are in an epoll set of this waiter's own, each armed for one event only
// when somebody waits for it: while a goroutine moves data nobody is woken by
// its arrival. The set itself is a descriptor that Go's poller watches, so that
// waiting takes no thread.
type waiter struct {
	set  *os.File
	raw  syscall.RawConn
	epfd int
	poll func(uintptr) bool // the method of that name, made once

	mu     sync.Mutex
	event  int // readable after wake
	closed bool
}

// newWaiter returns the waiter of descriptors that are read and written.
func newWaiter(in, out []int) (*waiter, error) {
	epfd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	event, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		unix.Close(epfd)
		return nil, os.NewSyscallError("eventfd", err)
	}
	errs := []error{unix.SetNonblock(epfd, true)} // or Go's poller would not take it
	errs = append(errs, unix.EpollCtl(epfd, unix.EPOLL_CTL_ADD, event, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(event)}))
	for _, fd := range append(in, out...) {
		errs = append(errs, unix.EpollCtl(epfd, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLONESHOT, Fd: int32(fd)}))
	}
	w := &waiter{set: os.NewFile(uintptr(epfd), "epoll"), epfd: epfd, event: event}
	raw, err := w.set.SyscallConn()
	w.raw, w.poll = raw, w.ready
	if err = errors.Join(append(errs, err)...); err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

// wait blocks until in can be read, out can be written, or wake was called.
// Those of -1 are not waited for.
func (w *waiter) wait(in, out int) {
	if in >= 0 {
		w.arm(in, unix.EPOLLIN)
	}
	if out >= 0 {
		w.arm(out, unix.EPOLLOUT)
	}
	_ = w.raw.Read(w.poll) // an error is the end of the waiter, which who waits finds out by itself
}

// ready reports whether a descriptor is ready, and forgets a wake.
func (w *waiter) ready(uintptr) bool {
	var events [4]unix.EpollEvent
	n, _ := unix.EpollWait(w.epfd, events[:], 0)
	for _, e := range events[:max(n, 0)] {
		if int(e.Fd) == w.event {
			var count [8]byte
			unix.Read(w.event, count[:])
		}
	}
	return n > 0
}

// arm asks for the next event of fd.
func (w *waiter) arm(fd int, events uint32) {
	unix.EpollCtl(w.epfd, unix.EPOLL_CTL_MOD, fd, &unix.EpollEvent{Events: events | unix.EPOLLONESHOT, Fd: int32(fd)})
}

// wake ends a wait, now or the next one.
func (w *waiter) wake() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed {
		unix.Write(w.event, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	}
}

func (w *waiter) close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil
	}
	w.closed = true
	return errors.Join(w.set.Close(), os.NewSyscallError("close", unix.Close(w.event)))
}
