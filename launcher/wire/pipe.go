package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
)

// Where launcher and agent are on one host, the launcher reads the ranks' output
// itself: the agent sends it the pipes (unix(7), SCM_RIGHTS) over the socket
// that is its standard input, whose other direction nothing else uses, when there
// is something in them. Each of the pipes comes with a message of its own:
//
//	offset  size  field
//	0       4     rank, big endian
//	4       1     stream
//
// The socket's end says that no more will come.
const pipeMessage = 5

// SendPipe hands the reading end of a rank's stream over, which must not block.
// Nor does SendPipe: with an error, the pipe is still the caller's to read. The
// caller closes its own descriptor in any case.
func SendPipe(socket syscall.RawConn, rank int, stream Stream, pipe int) error {
	var m [pipeMessage]byte
	binary.BigEndian.PutUint32(m[:], uint32(rank))
	m[4] = byte(stream)
	var sent error
	err := socket.Control(func(to uintptr) {
		sent = syscall.Sendmsg(int(to), m[:], syscall.UnixRights(pipe), nil, syscall.MSG_DONTWAIT)
	})
	return errors.Join(err, sent)
}

// ReceivePipe blocks for the next pipe. The error is io.EOF at the end.
func ReceivePipe(socket *net.UnixConn) (rank int, stream Stream, pipe *os.File, err error) {
	var m [pipeMessage]byte
	rights := make([]byte, syscall.CmsgSpace(4))
	n, nRights, flags, _, err := socket.ReadMsgUnix(m[:], rights)
	if err != nil {
		return 0, 0, nil, err
	}
	if flags&syscall.MSG_CTRUNC != 0 {
		return 0, 0, nil, errors.New("wire: a rank's pipe is beyond the limit of open files of this process (ulimit -n)")
	}
	messages, err := syscall.ParseSocketControlMessage(rights[:nRights])
	if err != nil || n != len(m) || len(messages) != 1 {
		return 0, 0, nil, fmt.Errorf("wire: expected a pipe of the agent's, found %d bytes with %d descriptors", n, len(messages))
	}
	fds, err := syscall.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return 0, 0, nil, fmt.Errorf("wire: expected one pipe of the agent's, found %d", len(fds))
	}
	return int(int32(binary.BigEndian.Uint32(m[:]))), Stream(m[4]), os.NewFile(uintptr(fds[0]), "pipe"), nil
}
