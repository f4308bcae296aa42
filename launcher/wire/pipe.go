package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"time"
)

// ReadChunk blocks until there is something to read from a pipe, and only then
// takes memory for it: most of a host's streams are silent most of the time. It
// reads on while the writer keeps up, since fuller frames are fewer. n is 0 at
// the end of the pipe.
func ReadChunk(pipe syscall.RawConn) (chunk *Chunk, n int) {
	err := pipe.Read(func(fd uintptr) (done bool) {
		chunk = NewChunk()
		n, done = readReady(int(fd), chunk.Room())
		if n == 0 {
			chunk.Release()
			chunk = nil
		}
		return done
	})
	if err != nil {
		return nil, 0
	}
	return chunk, n
}

// readReady reads into room until that is full or nothing is there. It is done if
// it has read something or the pipe has ended.
func readReady(fd int, room []byte) (n int, done bool) {
	for n < len(room) {
		got, err := syscall.Read(fd, room[n:])
		if err == syscall.EINTR {
			continue
		}
		if got <= 0 {
			return n, n > 0 || err != syscall.EAGAIN
		}
		n += got
	}
	return n, true
}

// Output makes an Output of the first n bytes of c's room. Its Release ends c.
func (c *Chunk) Output(rank int, stream Stream, at time.Time, n int) *Output {
	return &Output{Rank: rank, Stream: stream, Time: at, Data: c.Room()[:n], chunk: c}
}

// Where launcher and agent are on one host, the launcher reads the ranks' output
// itself: the agent sends it the pipes (unix(7), SCM_RIGHTS) over the socket
// that is its standard input, whose other direction nothing else uses. Each of
// the pipes comes with a message of its own:
//
//	offset  size  field
//	0       4     rank, big endian
//	4       1     stream
//
// The socket's end says that no more will come.
const pipeMessage = 5

// SendPipe hands the reading end of a rank's stream over. It does not block:
// with an error, the pipe is still the caller's to read. The caller closes its
// own descriptor in any case.
func SendPipe(socket syscall.RawConn, rank int, stream Stream, pipe *os.File) error {
	var m [pipeMessage]byte
	binary.BigEndian.PutUint32(m[:], uint32(rank))
	m[4] = byte(stream)
	raw, err := pipe.SyscallConn()
	if err != nil {
		return err
	}
	var sent error
	err = socket.Control(func(to uintptr) {
		if err := raw.Control(func(fd uintptr) {
			sent = syscall.Sendmsg(int(to), m[:], syscall.UnixRights(int(fd)), nil, syscall.MSG_DONTWAIT)
		}); err != nil {
			sent = err
		}
	})
	return errors.Join(err, sent)
}

// ReceivePipe blocks for the next pipe. The error is io.EOF at the end.
func ReceivePipe(socket *net.UnixConn) (rank int, stream Stream, pipe *os.File, err error) {
	var m [pipeMessage]byte
	rights := make([]byte, syscall.CmsgSpace(4))
	n, nRights, _, _, err := socket.ReadMsgUnix(m[:], rights)
	if err != nil {
		return 0, 0, nil, err
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
