//go:build linux

package agent

import (
	"errors"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// lookout waits for descriptors that most ranks leave alone: their output streams,
// their doors and the port of PMI. One goroutine waits for all, on an epoll
// instance of their own (epoll(7)) that the runtime's poller watches like any other
// file. A goroutine and a place in that poller for each of them would be a tenth of
// the start of a rank that neither prints nor joins.
type lookout struct {
	epoll *os.File
	fd    int           // its descriptor: asking the file for it would make it block
	done  chan struct{} // closed when the goroutine has ended

	mu     sync.Mutex
	last   int32             // id that was given last
	all    map[int32]watched // by id: a number of a descriptor can be another's by the time of an event
	closed bool
}

// watched is a descriptor and what is called, once, when there is something to
// read from it or its other end was closed. The call owns the descriptor and
// must not block.
type watched struct {
	fd   int
	call func(fd int, readable, hungUp bool)
}

func newLookout() (*lookout, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	// What does not block is what os.NewFile hands to the runtime's poller.
	if err := unix.SetNonblock(fd, true); err != nil {
		unix.Close(fd)
		return nil, os.NewSyscallError("fcntl", err)
	}
	l := &lookout{epoll: os.NewFile(uintptr(fd), "epoll"), fd: fd, done: make(chan struct{}), all: map[int32]watched{}}
	raw, err := l.epoll.SyscallConn()
	if err != nil {
		l.epoll.Close()
		return nil, err
	}
	go l.run(raw)
	return l, nil
}

// add begins to watch fd. With an error it stays the caller's.
func (l *lookout) add(fd int, call func(fd int, readable, hungUp bool)) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return os.ErrClosed
	}
	l.last++
	event := &unix.EpollEvent{Events: unix.EPOLLIN, Fd: l.last}
	if err := unix.EpollCtl(l.fd, unix.EPOLL_CTL_ADD, fd, event); err != nil {
		return os.NewSyscallError("epoll_ctl", err)
	}
	l.all[l.last] = watched{fd, call}
	return nil
}

func (l *lookout) run(raw syscall.RawConn) {
	defer close(l.done)
	events := make([]unix.EpollEvent, 64)
	for {
		var ready []unix.EpollEvent
		err := raw.Read(func(epoll uintptr) bool {
			n, err := unix.EpollWait(int(epoll), events, 0)
			if n > 0 {
				ready = events[:n]
			}
			return n > 0 || err != nil && !errors.Is(err, unix.EINTR)
		})
		if err != nil || ready == nil { // close was called
			return
		}
		for _, e := range ready {
			if one, ok := l.remove(e.Fd); ok {
				one.call(one.fd, e.Events&unix.EPOLLIN != 0, e.Events&(unix.EPOLLHUP|unix.EPOLLERR) != 0)
			}
		}
	}
}

// remove ends the watching of one.
func (l *lookout) remove(id int32) (one watched, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if one, ok = l.all[id]; ok {
		delete(l.all, id)
		// Closing fd would not: it may be open in another process, and what it is
		// a descriptor of is watched, not the number.
		unix.EpollCtl(l.fd, unix.EPOLL_CTL_DEL, one.fd, nil)
	}
	return one, ok
}

// cut makes the calls for all that is watched, as if it had been hung up.
func (l *lookout) cut() {
	l.mu.Lock()
	ids := make([]int32, 0, len(l.all))
	for id := range l.all {
		ids = append(ids, id)
	}
	l.mu.Unlock()
	for _, id := range ids {
		if one, ok := l.remove(id); ok {
			one.call(one.fd, false, true)
		}
	}
}

// close is cut, after which nothing can be added, and waits for the goroutine.
func (l *lookout) close() {
	if l == nil {
		return
	}
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.cut()
	l.epoll.Close()
	<-l.done
}
