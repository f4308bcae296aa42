package launcher

import (
	"io"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/gorun/gorun/launcher/wire"
)

// inputWindow is how many bytes of standard input may be on their way to the
// ranks of one host that read it.
const inputWindow = 256 << 10

// input forwards the launcher's standard input to hosts, whose agents give it
// to their ranks: all of it to each.
//
// Its goroutine reads only while every host that still reads has room. Files
// are waited for with poll(2), so that it ends with the job; another kind of
// Reader may hold it in Read, which no one can end, and then it ends when that
// returns.
type input struct {
	from  io.Reader
	ended func()   // told of the end of what is read
	stop  *os.File // its closing ends a wait for a file; nil: not a file
	wait  *os.File
	wg    sync.WaitGroup

	mu     sync.Mutex
	change sync.Cond
	room   map[*host]int // of the hosts that read
}

// descriptor is what a file has that may have nothing to read yet.
type descriptor interface{ Fd() uintptr }

func startInput(from io.Reader, to []*host, ended func()) (*input, error) {
	in := &input{from: from, ended: ended, room: map[*host]int{}}
	in.change.L = &in.mu
	for _, h := range to {
		in.room[h] = inputWindow
	}
	if _, ok := from.(descriptor); ok {
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
			in.send(&wire.Input{Data: buf[:n]}, n)
		}
		if err != nil {
			in.ended()
			in.send(&wire.InputEnd{}, 0)
			return
		}
	}
}

// await blocks until all who read have room and returns how much may be read
// at once, 0 if nobody reads.
func (in *input) await() int {
	in.mu.Lock()
	defer in.mu.Unlock()
	for {
		if len(in.room) == 0 {
			return 0
		}
		least := wire.MaxData
		for _, room := range in.room {
			least = min(least, room)
		}
		if least > 0 {
			return least
		}
		in.change.Wait()
	}
}

// send sends m, with n bytes of input, to all who read. It blocks while their
// connections do.
func (in *input) send(m wire.Message, n int) {
	in.mu.Lock()
	var to []*host
	for h := range in.room {
		in.room[h] -= n
		to = append(to, h)
	}
	in.mu.Unlock()
	for _, h := range to {
		h.conn.SendBulk(m) // an error means that the host is lost, which its reader sees
	}
}

// readable blocks until a file has something to read; false: the job ends.
func (in *input) readable() bool {
	f, ok := in.from.(descriptor)
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

// taken tells that the ranks of a host took so many bytes, or read no more.
func (in *input) taken(h *host, m *wire.InputTaken) {
	if in == nil {
		return
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if room, reads := in.room[h]; reads {
		in.room[h] = room + m.Bytes
	}
	if m.Closed {
		delete(in.room, h)
	}
	in.change.Signal()
}

// close ends the forwarding.
func (in *input) close() {
	if in == nil {
		return
	}
	in.mu.Lock()
	clear(in.room)
	in.change.Signal()
	in.mu.Unlock()
	if in.stop == nil {
		return // its Reader ends it
	}
	in.stop.Close()
	in.wg.Wait()
	in.wait.Close()
}
