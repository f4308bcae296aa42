//go:build linux

package agent

import (
	"os"
	"sync"

	"github.com/gorun/gorun/launcher/wire"
)

// feeder writes the launcher's standard input into a rank's pipe. What waits
// in it is bounded by the launcher, which sends no more than was taken.
// A nil feeder takes everything: its rank is not here, or was not started.
type feeder struct {
	conn *wire.Conn
	pipe *os.File

	mu      sync.Mutex
	change  sync.Cond
	pending [][]byte
	ended   bool // no more will come
	closed  bool // drop what is pending
}

func newFeeder(conn *wire.Conn, pipe *os.File) *feeder {
	f := &feeder{conn: conn, pipe: pipe}
	f.change.L = &f.mu
	return f
}

func (f *feeder) feed(data []byte) {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pending = append(f.pending, data)
	f.change.Signal()
}

// end closes the pipe behind what is pending.
func (f *feeder) end() {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended = true
	f.change.Signal()
}

// close ends a blocked run.
func (f *feeder) close() {
	if f == nil {
		return
	}
	f.mu.Lock()
	f.ended, f.closed = true, true
	f.change.Signal()
	f.mu.Unlock()
	f.pipe.Close()
}

// run writes until the input ends or the rank stops reading.
func (f *feeder) run() {
	defer f.pipe.Close()
	for {
		f.mu.Lock()
		for len(f.pending) == 0 && !f.ended {
			f.change.Wait()
		}
		if f.closed || len(f.pending) == 0 {
			f.mu.Unlock()
			return
		}
		data := f.pending[0]
		f.pending = f.pending[1:]
		f.mu.Unlock()
		if _, err := f.pipe.Write(data); err != nil {
			f.conn.Send(&wire.InputTaken{Closed: true})
			return
		}
		f.conn.Send(&wire.InputTaken{Bytes: len(data)})
	}
}
