//go:build linux

package agent

import (
	"io"
	"os"
	"slices"
	"sync"

	"github.com/gorun/gorun/launcher/wire"
)

// input hands the launcher's standard input to the ranks here that read it, all
// of it to each. What waits in it is bounded by the launcher, which sends no
// more than the slowest of them took; a rank that reads no more holds up nobody.
type input struct {
	conn *wire.Conn
	wg   sync.WaitGroup // one for each feeder

	mu      sync.Mutex
	feeders []*feeder
	ended   bool // no more will come
	closed  bool // drop what is pending
}

// feeder writes one rank's copy.
type feeder struct {
	in   *input
	sink sink

	change  sync.Cond
	pending []*portion
}

// portion is a message's data, shared by the feeders.
type portion struct {
	data    []byte
	readers int // that have not taken it
}

// sink is what a rank reads its standard input from.
type sink interface {
	io.WriteCloser
	// end lets the rank see the end of its input. It may block while the rank
	// does not read; Close ends that.
	end() error
}

// pipeSink is a pipe, whose end its closing is.
type pipeSink struct{ *os.File }

func (p pipeSink) end() error { return p.Close() }

// add starts the feeder of one rank. It must come before the first feed.
func (in *input) add(s sink) {
	f := &feeder{in: in, sink: s}
	f.change.L = &in.mu
	in.mu.Lock()
	defer in.mu.Unlock()
	in.feeders = append(in.feeders, f)
	in.wg.Go(f.run)
}

// feed takes what all ranks are to read next.
func (in *input) feed(data []byte) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if len(in.feeders) == 0 { // none was started, or none reads any more
		in.conn.Send(&wire.InputTaken{Closed: true})
		return
	}
	p := &portion{data: data, readers: len(in.feeders)}
	for _, f := range in.feeders {
		f.pending = append(f.pending, p)
		f.change.Signal()
	}
}

// end ends the ranks' input behind what is pending.
func (in *input) end() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.ended = true
	for _, f := range in.feeders {
		f.change.Signal()
	}
}

// close ends all feeders and waits for them.
func (in *input) close() {
	in.mu.Lock()
	in.ended, in.closed = true, true
	for _, f := range in.feeders {
		f.change.Signal()
		f.sink.Close()
	}
	in.mu.Unlock()
	in.wg.Wait()
}

// run writes until the input ends or the rank stops reading.
func (f *feeder) run() {
	defer f.sink.Close()
	for {
		p := f.next()
		if p == nil {
			f.sink.end()
			return
		}
		if _, err := f.sink.Write(p.data); err != nil {
			f.leave(p)
			return
		}
		f.in.mu.Lock()
		f.in.taken(p)
		f.in.mu.Unlock()
	}
}

// next blocks for what the rank is to read next; nil is the end.
func (f *feeder) next() *portion {
	f.in.mu.Lock()
	defer f.in.mu.Unlock()
	for len(f.pending) == 0 && !f.in.ended {
		f.change.Wait()
	}
	if f.in.closed || len(f.pending) == 0 {
		return nil
	}
	p := f.pending[0]
	f.pending = f.pending[1:]
	return p
}

// taken notes under in.mu that a feeder needs p no more. Each takes its
// portions in order, so the portions are done with in order too.
func (in *input) taken(p *portion) {
	if p.readers--; p.readers == 0 {
		in.conn.Send(&wire.InputTaken{Bytes: len(p.data)})
	}
}

// leave is the end of a feeder whose rank reads no more: not p, of which it
// may have taken a part, nor what is pending.
func (f *feeder) leave(p *portion) {
	in := f.in
	in.mu.Lock()
	defer in.mu.Unlock()
	in.feeders = slices.DeleteFunc(in.feeders, func(other *feeder) bool { return other == f })
	if len(in.feeders) == 0 {
		in.conn.Send(&wire.InputTaken{Closed: true})
		return
	}
	for _, p := range append([]*portion{p}, f.pending...) {
		in.taken(p)
	}
}
