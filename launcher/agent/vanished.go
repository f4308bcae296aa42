//go:build linux

package agent

import (
	"errors"
	"net"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Of a rank whose program runs behind a script, what is reaped is the script,
// which may take its time, when peers that noticed the end of the program have
// long failed. But the program's connection to the job ended with it. So a rank
// that fails soon after its last connection ended without a goodbye has failed
// then.

// aftermath is how soon that is. In a script, a program that ended well without
// closing its Job may be followed by another, whose failure is its own.
const aftermath = 5 * time.Second

// connected notes that a program of a rank has opened the job.
func (a *agent) connected(number int, conn net.Conn) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if r := a.rank(number); r != nil {
		r.connections = append(r.connections, conn)
		r.vanished = time.Time{}
	}
}

// disconnected notes that one has left, closed it or not.
func (a *agent) disconnected(number int, conn net.Conn, closed bool) {
	at := timeNow()
	a.mu.Lock()
	defer a.mu.Unlock()
	r := a.rank(number)
	if r == nil {
		return
	}
	r.connections = slices.DeleteFunc(r.connections, func(c net.Conn) bool { return c == conn })
	switch {
	case !closed:
		a.noteVanished(r, at)
	case len(r.connections) == 0:
		r.vanished = time.Time{} // it was asked for between the goodbye and this
	}
}

// present notes that a program of a rank begins to use PMI.
func (a *agent) present(number int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if r := a.rank(number); r != nil {
		r.vanished = time.Time{}
	}
}

// vanished notes that one is gone that has not finalized.
func (a *agent) vanished(number int) {
	at := timeNow()
	a.mu.Lock()
	defer a.mu.Unlock()
	if r := a.rank(number); r != nil {
		a.noteVanished(r, at)
	}
}

// noteVanished notes that a rank has vanished, if none of its connections is left.
// Of a rank that was told to end it would say nothing. a.mu is held.
func (a *agent) noteVanished(r *rank, at time.Time) {
	if !r.told && a.keeper == nil && r.vanished.IsZero() && !slices.ContainsFunc(r.connections, open) {
		r.vanished = at
	}
}

// open says whether the other end of a connection has not hung up, or what it has
// sent before is not read yet.
func open(conn net.Conn) bool {
	hungUp := false
	if c, ok := conn.(syscall.Conn); ok {
		if raw, err := c.SyscallConn(); err == nil {
			raw.Control(func(fd uintptr) {
				n, _, err := unix.Recvfrom(int(fd), make([]byte, 1), unix.MSG_PEEK|unix.MSG_DONTWAIT)
				hungUp = n == 0 && err == nil || errors.Is(err, unix.ECONNRESET)
			})
		}
	}
	return !hungUp
}

// noteEnding finds out when a rank that has failed, and was reaped at that time,
// began to end, if that was before. A rank that the signal which ends the job has
// killed did not end because its program had vanished. agent.mu is held.
func (r *rank) noteEnding(reaped time.Time, status syscall.WaitStatus) {
	ours := r.told && (status.Signal() == syscall.SIGTERM || status.Signal() == syscall.SIGKILL)
	if r.vanished.IsZero() || ours {
		return
	}
	if ago := reaped.Sub(r.vanished); ago >= 0 && ago < aftermath && (r.dying.IsZero() || r.vanished.Before(r.dying)) {
		r.dying = r.vanished
	}
}
