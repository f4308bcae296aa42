package rendezvous

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/gorun/gorun/rendezvous/internal/socketpair"
)

// The inherited descriptor. A path can be out of a rank's reach: in a container,
// under another root or mount namespace. A descriptor is not, but one stream
// serves one Job, and a program may open several, or start another program that
// does. So what a rank inherits is one end of a pair of SOCK_SEQPACKET sockets,
// and behind it the agent hands out a stream for each Open:
//
//	rank                          agent
//	 one byte, the knock  ───────▶
//	                      ◀───────  one byte, with one end of a new pair of
//	                                stream sockets (SCM_RIGHTS, unix(7))
//
// Packets keep their bounds, so processes that share the rank's end can knock at
// the same moment: each takes one connection, it does not matter which.

// knockByte is the content of both packets.
const knockByte = 'k'

// door is the agent's end.
type door struct{ *net.UnixConn }

// NewDoor returns the two ends of a door for one rank, as descriptors: the
// agent's, for [ListenAtDoor], and the rank's, to be handed down to its process,
// with its number there in GORUN_SOCKET_FD, and then closed. Both are the
// caller's to close. The agent's end becomes readable when somebody knocks, and
// hangs up once the rank's end is closed everywhere.
func NewDoor() (agentEnd, rankEnd int, err error) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_SEQPACKET|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, -1, fmt.Errorf("rendezvous: door: %w", os.NewSyscallError("socketpair", err))
	}
	return fds[0], fds[1], nil
}

// ListenAtDoor returns the listener on which [Serve] answers the Jobs that come
// through a door. It takes over the agent's end. Accept returns [net.ErrClosed]
// once the rank's end is closed everywhere.
func ListenAtDoor(agentEnd int) (net.Listener, error) {
	conn, err := socketpair.Conn(os.NewFile(uintptr(agentEnd), "door"))
	if err != nil {
		return nil, fmt.Errorf("rendezvous: door: %w", err)
	}
	return door{conn}, nil
}

// Accept waits for a knock and returns the agent's end of a new connection.
func (d door) Accept() (net.Conn, error) {
	for {
		knock := make([]byte, 1)
		_, err := d.Read(knock)
		if errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) {
			return nil, fmt.Errorf("rendezvous: door: no rank is left: %w", net.ErrClosed)
		}
		if err != nil {
			return nil, err
		}
		if knock[0] != knockByte {
			continue
		}
		conn, rankEnd, err := socketpair.New(syscall.SOCK_STREAM)
		if err != nil {
			d.Write(knock) // so that the rank does not wait, but tries the path
			return nil, err
		}
		_, _, err = d.WriteMsgUnix(knock, syscall.UnixRights(int(rankEnd.Fd())), nil)
		rankEnd.Close()
		if err == nil {
			return conn, nil
		}
		conn.Close()
		if errors.Is(err, net.ErrClosed) {
			return nil, err
		}
		// Whoever knocked is gone. Reading tells whether others are left.
	}
}

// Addr returns the address of the pair's end, which has no name.
func (d door) Addr() net.Addr { return d.LocalAddr() }

// knock takes a connection from the door of which fd is the rank's end. It
// leaves fd open, for the next Job, and marks it close-on-exec. A number that
// means something else in this process, because a program between it and the
// agent closed what it had inherited, is an error.
func knock(ctx context.Context, fd int) (net.Conn, error) {
	if kind, err := syscall.GetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_TYPE); err != nil {
		return nil, os.NewSyscallError("getsockopt", err)
	} else if kind != syscall.SOCK_SEQPACKET {
		return nil, errors.New("not a door's end")
	}
	syscall.CloseOnExec(fd)
	own, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_DUPFD_CLOEXEC, 0)
	if errno != 0 {
		return nil, os.NewSyscallError("fcntl", errno)
	}
	door, err := socketpair.Conn(os.NewFile(own, "door"))
	if err != nil {
		return nil, err
	}
	defer door.Close()
	defer context.AfterFunc(ctx, func() { door.SetDeadline(time.Unix(1, 0)) })()
	if _, err := door.Write([]byte{knockByte}); err != nil {
		return nil, err
	}
	packet, rights := make([]byte, 1), make([]byte, syscall.CmsgSpace(4))
	_, n, _, _, err := door.ReadMsgUnix(packet, rights)
	if err != nil {
		return nil, err
	}
	messages, err := syscall.ParseSocketControlMessage(rights[:n])
	if err != nil || len(messages) != 1 {
		return nil, errors.New("the answer at the door has no connection")
	}
	fds, err := syscall.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return nil, errors.New("the answer at the door has no connection")
	}
	return socketpair.Conn(os.NewFile(uintptr(fds[0]), "job socket"))
}
