//go:build linux

package agent

import (
	"context"
	"os"
	"syscall"
	"time"

	"github.com/gorun/gorun/launcher/wire"
)

// startPump starts the goroutine that forwards one stream of a rank. It ends
// at the end of the pipe, or with the launcher.
func (a *agent) startPump(rank int, stream wire.Stream, pipe *os.File) {
	a.mu.Lock()
	a.pipes = append(a.pipes, pipe)
	a.mu.Unlock()
	a.pumps.Go(func() {
		defer pipe.Close()
		defer context.AfterFunc(a.ctx, func() { pipe.Close() })()
		a.pump(rank, stream, pipe)
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

func (a *agent) pump(rank int, stream wire.Stream, pipe *os.File) {
	raw, err := pipe.SyscallConn()
	if err != nil {
		return
	}
	for {
		chunk, n := readChunk(raw)
		if n == 0 {
			return
		}
		o := wire.Output{Rank: rank, Stream: stream, Time: time.Now()}
		if a.forward(&o, chunk, n) != nil {
			return
		}
	}
}

// readChunk blocks until there is something to read, and only then takes
// memory for it: most of a host's streams are silent most of the time. It
// reads on while the writer keeps up, since fuller frames are fewer. n is 0 at
// the end of the pipe.
func readChunk(raw syscall.RawConn) (chunk *wire.Chunk, n int) {
	err := raw.Read(func(fd uintptr) (done bool) {
		chunk = wire.NewChunk()
		n, done = fill(int(fd), chunk.Room())
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

// fill reads into room until that is full or nothing is there. It is done if
// it has read something or the pipe has ended.
func fill(fd int, room []byte) (n int, done bool) {
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
