package launcher

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/gorun/gorun/launcher/wire"
)

// localPipes are the pipes into which ranks of this host print. The launcher
// reads them itself, so that what they print does not go through an agent and
// is copied half as often.
//
// One goroutine receives the pipes and one reads each of them; wait waits for
// all. They end when nothing has a pipe open for writing any more, or by cut.
type localPipes struct {
	printer *printer
	time    func() time.Time // when a piece is read
	wg      sync.WaitGroup
	ctx     context.Context // ends with cut
	end     context.CancelFunc
}

// newLocalPipes takes the pipes that an agent sends over socket, until its end.
// owns refuses those of ranks that are not the agent's; failed is told of that,
// or that the pipes do not come as they should.
func newLocalPipes(socket *net.UnixConn, p *printer, clock func() time.Time, owns func(int, wire.Stream) error, failed func(error)) *localPipes {
	l := &localPipes{printer: p, time: clock}
	l.ctx, l.end = context.WithCancel(context.Background())
	l.wg.Go(func() {
		defer context.AfterFunc(l.ctx, func() { socket.CloseRead() })()
		for {
			rank, stream, pipe, err := wire.ReceivePipe(socket)
			if err != nil && (errors.Is(err, io.EOF) || l.ctx.Err() != nil) {
				return
			}
			if err == nil {
				err = owns(rank, stream)
			}
			if err != nil {
				pipe.Close() // of nil it only says so
				failed(err)
				return
			}
			l.wg.Go(func() { l.read(rank, stream, pipe) })
		}
	})
	return l
}

// read hands what comes out of a pipe to the printer, until its end. It reads
// on when that has been printed. Meanwhile the pipe fills, so that the faster
// ranks print, the larger are the pieces; and a stalled printer stops them with
// one piece of each in memory.
func (l *localPipes) read(rank int, stream wire.Stream, pipe *os.File) {
	defer pipe.Close()
	defer context.AfterFunc(l.ctx, func() { pipe.Close() })()
	from := localPipe{make(chan struct{}, 1)}
	defer l.printer.add(printItem{from: from, end: &wire.OutputEnd{Rank: rank, Stream: stream}})
	raw, err := pipe.SyscallConn()
	if err != nil {
		return
	}
	for {
		chunk, n := wire.ReadChunk(raw)
		if n == 0 {
			return
		}
		l.printer.add(printItem{from: from, output: chunk.Output(rank, stream, l.time(), n)})
		select {
		case <-from.done:
		case <-l.ctx.Done():
			return
		}
	}
}

// localPipe is one of them as a source of output.
type localPipe struct{ done chan struct{} }

func (p localPipe) printed(*wire.Output) { p.done <- struct{}{} }

// wait blocks until all pipes have come and were read to their end.
func (l *localPipes) wait() {
	if l != nil {
		l.wg.Wait()
	}
}

// cut ends the reading: what holds the pipes open is not the job's any more.
func (l *localPipes) cut() {
	if l != nil {
		l.end()
		l.wg.Wait()
	}
}
