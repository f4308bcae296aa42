//go:build linux

package agent

import (
	"context"
	"os"

	"golang.org/x/sys/unix"

	"github.com/gorun/gorun/launcher/wire"
)

// Larger pipes spare two thirds of the switches between a rank that prints a
// lot and who reads. The kernel gives a user 64 MiB of them and then only
// crumbs (fs.pipe-user-pages-soft), so hosts with many ranks go without.
const (
	roomyPipe  = 256 << 10
	roomyRanks = 32
)

// forwardOutput sees to it that the launcher gets what a rank writes to a pipe,
// which it takes over; -1 is none. Most streams end without a byte, so nothing
// reads one before there is something to read.
func (a *agent) forwardOutput(rank int, stream wire.Stream, pipe int) {
	if pipe < 0 {
		return
	}
	a.pumps.Add(1)
	begin := func(fd int, readable, _ bool) {
		defer a.pumps.Done()
		if readable {
			a.beginOutput(rank, stream, fd)
			return
		}
		unix.Close(fd)
		a.conn.Send(&wire.OutputEnd{Rank: rank, Stream: stream})
	}
	if a.lookout.add(pipe, begin) != nil { // the kernel has no room for a watch more
		begin(pipe, true, false)
	}
}

// beginOutput begins to read a pipe, or hands it to the launcher if that is to
// read it itself.
func (a *agent) beginOutput(rank int, stream wire.Stream, fd int) {
	if len(a.host().Ranks) <= roomyRanks {
		unix.FcntlInt(uintptr(fd), unix.F_SETPIPE_SZ, roomyPipe) // refused: it works as it is
	}
	unix.SetNonblock(fd, true) // no thread shall wait for a rank; its own end blocks, as programs expect
	if a.takesPipes() && wire.SendPipe(a.socket, rank, stream, fd) == nil {
		unix.Close(fd)
		return
	}
	a.startPump(rank, stream, os.NewFile(uintptr(fd), "pipe"), nil)
}

// takesPipes reports whether the launcher reads pipes itself.
func (a *agent) takesPipes() bool { return a.start.Pipes && a.socket != nil }

// endPipes tells the launcher that it has got all the pipes it will get.
func (a *agent) endPipes() {
	if a.start != nil && a.takesPipes() {
		a.socket.Control(func(fd uintptr) { unix.Shutdown(int(fd), unix.SHUT_WR) })
	}
}

// startPump starts the goroutine that forwards one stream of a rank. It ends
// at the end of the pipe, or with the launcher, and calls said, if there is
// one, after each part.
func (a *agent) startPump(rank int, stream wire.Stream, pipe *os.File, said func()) {
	a.mu.Lock()
	a.pipes = append(a.pipes, pipe)
	a.mu.Unlock()
	a.pumps.Go(func() {
		defer pipe.Close()
		defer context.AfterFunc(a.ctx, func() { pipe.Close() })()
		a.pump(rank, stream, pipe, said)
		a.conn.SendBulk(&wire.OutputEnd{Rank: rank, Stream: stream})
	})
}

// cutPipes ends all pumps, and the waiting for output.
func (a *agent) cutPipes() {
	if a.lookout != nil {
		a.lookout.cut()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, p := range a.pipes {
		p.Close()
	}
}

func (a *agent) pump(rank int, stream wire.Stream, pipe *os.File, said func()) {
	raw, err := pipe.SyscallConn()
	if err != nil {
		return
	}
	for {
		chunk, n := wire.ReadChunk(raw)
		if n == 0 {
			return
		}
		o := wire.Output{Rank: rank, Stream: stream, Time: a.time()}
		if a.forward(&o, chunk, n) != nil {
			return
		}
		if said != nil {
			said()
		}
	}
}

// forward sends the first n bytes of chunk, in pieces as credit allows.
func (a *agent) forward(o *wire.Output, chunk *wire.Chunk, n int) error {
	rest := chunk.Room()[:n]
	for {
		credit, err := a.window.Take(a.ctx, len(rest))
		if err != nil {
			chunk.Release()
			return err
		}
		if credit == n {
			return a.conn.SendOutput(o, chunk, n)
		}
		o.Data = rest[:credit]
		if err := a.conn.SendBulk(o); err != nil || credit == len(rest) {
			chunk.Release()
			return err
		}
		rest = rest[credit:]
	}
}
