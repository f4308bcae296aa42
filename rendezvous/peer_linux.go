package rendezvous

import (
	"net"
	"os"
	"syscall"
)

// ownPeer tells whether conn is not a Unix socket, or one whose other end is
// held by a process of this user or of root. The kernel noted who that was when
// the connection was made (SO_PEERCRED, unix(7)).
func ownPeer(conn net.Conn) bool {
	unix, ok := conn.(*net.UnixConn)
	if !ok {
		return true
	}
	raw, err := unix.SyscallConn()
	if err != nil {
		return false
	}
	var cred *syscall.Ucred
	var credErr error
	err = raw.Control(func(fd uintptr) {
		cred, credErr = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	})
	if err != nil || credErr != nil {
		return false
	}
	return cred.Uid == 0 || int(cred.Uid) == os.Geteuid()
}
