// Package socketpair makes pairs of connected Unix sockets of which one end is
// for another process to inherit, or to be sent.
package socketpair

import (
	"errors"
	"net"
	"os"
	"syscall"
)

// New returns a pair of a kind, such as syscall.SOCK_STREAM: one end as a
// connection, the other as a file. Both are close-on-exec and the caller's.
func New(kind int) (*net.UnixConn, *os.File, error) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, kind|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "socket"), os.NewFile(uintptr(fds[1]), "socket")
	conn, err := Conn(ours)
	if err != nil {
		theirs.Close()
		return nil, nil, err
	}
	return conn, theirs, nil
}

// Conn turns f, which it closes, into a connection.
func Conn(f *os.File) (*net.UnixConn, error) {
	defer f.Close()
	conn, err := net.FileConn(f)
	if err != nil {
		return nil, err
	}
	unix, ok := conn.(*net.UnixConn)
	if !ok {
		conn.Close()
		return nil, errors.New("not a Unix socket")
	}
	return unix, nil
}
