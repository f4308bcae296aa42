package launcher

import (
	"io"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/gorun/gorun/launcher/wire"
)

// inputWindow is how many bytes of standard input may be on their way to the
// rank that reads it.
const inputWindow = 256 << 10

// input forwards the launcher's standard input to one rank.
//
// Its goroutine reads only while the rank has room. Files are waited for with
// poll(2), so that it ends with the job; another kind of Reader may hold it in
// Read, which no one can end, and then it ends when that returns.
type input struct {
	conn *wire.Conn
	from io.Reader
	stop *os.File // its closing ends a wait for a file; nil: not a file
	wait *os.File
	wg   sync.WaitGroup

	mu     sync.Mutex
	change sync.Cond
	room   int
	closed bool
}

func startInput(conn *wire.Conn, from io.Reader) (*input, error) {
	in := &input{conn: conn, from: from, room: inputWindow}
	in.change.L = &in.mu
	if _, ok := from.(*os.File); ok {
		var err error
		if in.wait, in.stop, err = os.Pipe(); err != nil {
			return nil, err
		}
	}
	in.wg.Go(in.run)
	return in, nil
}

func (in *input) run() {
	for {
		n := in.await()
		if n == 0 || !in.readable() {
			return
		}
		buf := make([]byte, n)
		n, err := in.from.Read(buf)
		if n > 0 {
			in.mu.Lock()
			in.room -= n
			in.mu.Unlock()
			if in.conn.SendBulk(&wire.Input{Data: buf[:n]}) != nil {
				return
			}
		}
		if err != nil {
			in.conn.SendBulk(&wire.InputEnd{})
			return
		}
	}
}

// await blocks until the rank has room and returns how much may be read at
// once, 0 if nothing more.
func (in *input) await() int {
	in.mu.Lock()
	defer in.mu.Unlock()
	for in.room <= 0 && !in.closed {
		in.change.Wait()
	}
	if in.closed {
		return 0
	}
	return min(in.room, wire.MaxData)
}

// readable blocks until a file has something to read; false: the job ends.
func (in *input) readable() bool {
	f, ok := in.from.(*os.File)
	if !ok {
		return true
	}
	fds := []unix.PollFd{
		{Fd: int32(f.Fd()), Events: unix.POLLIN},
		{Fd: int32(in.wait.Fd()), Events: unix.POLLIN},
	}
	for {
		if _, err := unix.Poll(fds, -1); err != unix.EINTR {
			return err != nil || fds[1].Revents == 0
		}
	}
}

// taken tells that the rank took so many bytes, or reads no more.
func (in *input) taken(m *wire.InputTaken) {
	if in == nil {
		return
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.room += m.Bytes
	in.closed = in.closed || m.Closed
	in.change.Signal()
}

// close ends the forwarding.
func (in *input) close() {
	if in == nil {
		return
	}
	in.taken(&wire.InputTaken{Closed: true})
	if in.stop == nil {
		return // its Reader ends it
	}
	in.stop.Close()
	in.wg.Wait()
	in.wait.Close()
}
