//go:build linux

package agent

import (
	"context"
	"os"

	"golang.org/x/sys/unix"

	"github.com/gorun/gorun/launcher/wire"
)

// forwardOutput sees to it that the launcher gets what a rank writes: by
// reading the pipe, if it is not to read that itself.
func (a *agent) forwardOutput(rank int, stream wire.Stream, pipe *os.File) {
	if a.takesPipes() && wire.SendPipe(a.socket, rank, stream, pipe) == nil {
		pipe.Close()
		return
	}
	a.startPump(rank, stream, pipe, nil)
}

// takesPipes reports whether the launcher reads pipes itself.
func (a *agent) takesPipes() bool { return a.start.Pipes && a.socket != nil }

// endPipes tells the launcher that it has got all the pipes it will get.
func (a *agent) endPipes() {
	if a.takesPipes() {
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

// cutPipes ends all pumps.
func (a *agent) cutPipes() {
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
