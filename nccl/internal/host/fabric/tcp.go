//go:build unix

package fabric

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"

	"golang.org/x/sys/unix"
)

// spinTries is how often a rank that has a processor to itself reads in vain
// before it parks. At about 0.5 µs a try it covers the round trip between two
// processes of one host.
const spinTries = 100

// spinTriesCrowded is the same where ranks outnumber processors: who spins
// keeps the one away that it waits for.
const spinTriesCrowded = 2

// tcpPort is a Port over TCP. It takes the descriptors away from Go's poller,
// which would be woken by every packet, and uses a waiter of its own when there
// is nothing to do.
type tcpPort struct {
	in, out map[int]int // descriptors by rank
	waiter  *waiter
	spin    int
}

// TCP returns the Port of links over TCP connections, by the rank at their
// other end: in are received from, out sent to. It takes them over, also if it
// fails. Crowded says that the ranks of this host outnumber its processors.
func TCP(in, out map[int]*net.TCPConn, crowded bool) (Port, error) {
	p := &tcpPort{in: make(map[int]int), out: make(map[int]int), spin: spinTries}
	if crowded {
		p.spin = spinTriesCrowded
	}
	var errs []error
	for _, side := range []struct {
		conns map[int]*net.TCPConn
		fds   map[int]int
	}{{in, p.in}, {out, p.out}} {
		for rank, conn := range side.conns {
			fd, err := detach(conn)
			if err != nil {
				errs = append(errs, err)
				continue
			}
			side.fds[rank] = fd
		}
	}
	waiter, err := newWaiter(slices.Collect(maps.Values(p.in)), slices.Collect(maps.Values(p.out)))
	if err = errors.Join(append(errs, err)...); err != nil {
		p.closeLinks()
		return nil, fmt.Errorf("making links: %w", err)
	}
	p.waiter = waiter
	return p, nil
}

// detach returns conn's descriptor, non-blocking and known to no poller, and closes conn.
func detach(conn *net.TCPConn) (fd int, err error) {
	defer conn.Close()
	raw, err := conn.SyscallConn()
	if err != nil {
		return -1, err
	}
	var dupErr error
	err = raw.Control(func(s uintptr) {
		fd, dupErr = unix.FcntlInt(s, unix.F_DUPFD_CLOEXEC, 0)
	})
	return fd, errors.Join(err, dupErr)
}

func (p *tcpPort) TrySend(to int, b []byte) (int, error) {
	n, err := unix.Write(p.out[to], b)
	return outcome(n, err)
}

func (p *tcpPort) TryRecv(from int, b []byte) (int, error) {
	n, err := unix.Read(p.in[from], b)
	if n == 0 && err == nil && len(b) > 0 {
		return 0, ErrBroken
	}
	return outcome(n, err)
}

// outcome turns what a system call returned into what a Port does.
func outcome(n int, err error) (int, error) {
	switch err {
	case nil:
		return n, nil
	case unix.EAGAIN, unix.EINTR:
		return 0, nil
	}
	return 0, fmt.Errorf("%w: %w", ErrBroken, err)
}

func (p *tcpPort) Wait(from, to int) {
	in, out := -1, -1
	if from >= 0 {
		in = p.in[from]
	}
	if to >= 0 {
		out = p.out[to]
	}
	p.waiter.wait(in, out)
}

func (p *tcpPort) Wake() { p.waiter.wake() }

func (p *tcpPort) Spin() int { return p.spin }

func (p *tcpPort) Close() error {
	err := p.waiter.close()
	p.closeLinks()
	return err
}

func (p *tcpPort) closeLinks() {
	for _, fds := range []map[int]int{p.in, p.out} {
		for _, fd := range fds {
			unix.Close(fd)
		}
	}
}
