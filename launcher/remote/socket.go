package remote

import (
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// socketPair returns two connected sockets, for us and for a child.
func socketPair() (ours *net.UnixConn, child *os.File, err error) {
	syscall.ForkLock.RLock()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err == nil {
		unix.CloseOnExec(fds[0])
		unix.CloseOnExec(fds[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	child = os.NewFile(uintptr(fds[1]), "socket")
	file := os.NewFile(uintptr(fds[0]), "socket")
	defer file.Close() // FileConn makes a descriptor of its own
	conn, err := net.FileConn(file)
	if err != nil {
		child.Close()
		return nil, nil, err
	}
	return conn.(*net.UnixConn), child, nil
}
