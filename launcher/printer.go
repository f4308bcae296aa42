package launcher

import (
	"io"
	"sync"
	"time"

	"github.com/gorun/gorun/launcher/stdio"
	"github.com/gorun/gorun/launcher/wire"
)

// outputPool is how many bytes of output may be on their way in the whole
// job, minWindow what each host may have at least, and maxWindow what it needs
// at most: enough to fill a fast network while credit comes back, little enough
// to stay in the processor's cache.
const (
	outputPool = 32 << 20
	minWindow  = 16 << 10
	maxWindow  = 2 << 20
)

// hostWindow is one host's share of the pool.
func hostWindow(hosts int) int64 {
	return min(maxWindow, max(minWindow, outputPool/int64(hosts)))
}

// printer writes what ranks print. Readers of agents hand it output and never
// wait for it: what it holds is bounded by the credit that the agents have, and by
// localPipes, which reads on when it was told. It tells the source when the
// writers took the bytes.
type printer struct {
	merger  *stdio.Merger
	writers [2]io.Writer        // by stdio.Stream
	ended   func(rank int)      // told of each stream of a rank that has ended
	failed  func(error)         // told of a writer's first error
	broken  [2]bool             // streams whose writer failed; their output is dropped
	merged  func(rank int) bool // its standard output is all there is
	files   *rankFiles          // nil: none, or one could not be written
	hidden  map[int]bool        // ranks whose output does not reach the writers

	done chan struct{} // closed when everything is written, or given up
	once sync.Once     // closes done

	more chan struct{} // has an element when items or closed changed

	mu        sync.Mutex
	items     []printItem
	closed    bool
	writing   printItem // what run has taken of items; without output: nothing whose credit is owed
	noInput   bool      // standard input has ended
	abandoned bool

	tails []stdio.Tail // of standard error, or of what it is merged into, by rank; under mu
}

// source is who sends output, and may send more of it when some was printed.
type source interface{ printed(*wire.Output) }

// printItem is output of a rank, or the end of a stream.
type printItem struct {
	from   source
	output *wire.Output
	end    *wire.OutputEnd
}

func newPrinter(conf stdio.Config, s *Streams, files *rankFiles, ended func(rank int), failed func(error)) *printer {
	p := &printer{
		merger:  stdio.NewMerger(conf),
		writers: [2]io.Writer{stdio.Stdout: s.Stdout, stdio.Stderr: s.Stderr},
		ended:   ended,
		failed:  failed,
		merged:  s.merged,
		files:   files,
		hidden:  s.hidden(len(conf.Ranks)),
		done:    make(chan struct{}),
		more:    make(chan struct{}, 1),
		tails:   make([]stdio.Tail, len(conf.Ranks)),
	}
	for i, w := range p.writers {
		if w == nil {
			p.writers[i] = io.Discard
		}
	}
	for rank := range conf.Ranks {
		if p.merged(rank) || p.hidden[rank] {
			p.merger.Close(rank, stdio.Stderr)
		}
		if p.hidden[rank] {
			p.merger.Close(rank, stdio.Stdout)
		}
	}
	go p.run()
	return p
}

// add hands over an item. It does not block.
func (p *printer) add(item printItem) {
	p.mu.Lock()
	if o := item.output; o != nil && (o.Stream == wire.Stderr || p.merged(o.Rank)) {
		p.tails[o.Rank].Write(o.Data)
	}
	abandoned := p.abandoned
	if !abandoned {
		p.items = append(p.items, item)
	}
	p.mu.Unlock()
	if abandoned {
		item.drop()
		return
	}
	p.wake()
}

func (p *printer) wake() {
	select {
	case p.more <- struct{}{}:
	default:
	}
}

// tail returns the last lines of a rank's standard error.
func (p *printer) tail(rank int) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]byte(nil), p.tails[rank].Bytes()...)
}

// inputEnded tells that no rank can be waiting for input any more.
func (p *printer) inputEnded() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.noInput = true
}

// close ends the printer after what it was handed; then done is closed.
func (p *printer) close() {
	p.mu.Lock()
	p.closed = true
	abandoned := p.abandoned
	p.mu.Unlock()
	p.wake()
	if abandoned {
		p.once.Do(func() { close(p.done) })
	}
}

// abandon gives up the output that nobody takes. A writer that blocks keeps
// its goroutine until it returns.
func (p *printer) abandon() {
	p.mu.Lock()
	items, closed := p.items, p.closed
	p.items, p.abandoned = nil, true
	if o := p.writing.output; o != nil { // it may take for ever, and its sender needs the credit to end
		p.writing.from.printed(o)
		p.writing = printItem{}
	}
	p.mu.Unlock()
	for _, item := range items {
		item.drop()
	}
	p.wake()
	if closed {
		p.once.Do(func() { close(p.done) })
	}
}

// drop ends an item that was printed, or never will be.
func (i printItem) drop() {
	if i.output != nil {
		i.from.printed(i.output)
		i.output.Release()
	}
}

func (p *printer) run() {
	defer p.once.Do(func() { close(p.done) })
	defer p.closeFiles()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		p.mu.Lock()
		some, closed, noInput := len(p.items) > 0, p.closed, p.noInput
		if p.noInput = false; some {
			p.writing, p.items[0] = p.items[0], printItem{}
			p.items = p.items[1:]
		}
		item := p.writing
		p.mu.Unlock()
		if noInput {
			p.merger.InputEnded()
		}
		if some {
			p.print(item)
		}
		if at := p.merger.Deadline(); !at.IsZero() && !timeNow().Before(at) {
			p.write(p.merger.Flush(timeNow()))
		}
		if closed && !some {
			return
		}
		if some {
			continue
		}
		var due <-chan time.Time
		if at := p.merger.Deadline(); !at.IsZero() {
			timer.Reset(time.Until(at))
			due = timer.C
		}
		select {
		case <-p.more:
		case <-due:
		}
	}
}

func (p *printer) print(item printItem) {
	if item.end != nil {
		p.write(p.merger.Close(item.end.Rank, mergerStream(item.end.Stream)))
		p.ended(item.end.Rank)
		return
	}
	o := item.output
	stream := mergerStream(o.Stream)
	if p.files != nil {
		if err := p.files.write(o.Rank, stream, o.Data); err != nil {
			p.closeFiles()
			p.failed(err) // names the file
		}
	}
	if !p.hidden[o.Rank] {
		p.write(p.merger.Add(timeNow(), stdio.Chunk{Rank: o.Rank, Stream: stream, Time: o.Time, Data: o.Data}))
	}
	p.mu.Lock()
	if p.writing.output != nil {
		item.from.printed(o)
		p.writing = printItem{}
	}
	p.mu.Unlock()
	o.Release()
}

func (p *printer) write(pieces []stdio.Piece) {
	for _, piece := range pieces {
		if p.broken[piece.Stream] {
			continue
		}
		if _, err := p.writers[piece.Stream].Write(piece.Data); err != nil {
			p.broken[piece.Stream] = true
			p.failed(err)
		}
	}
}

// closeFiles ends the writing to files.
func (p *printer) closeFiles() {
	if p.files == nil {
		return
	}
	if err := p.files.close(); err != nil {
		p.failed(err)
	}
	p.files = nil
}

func mergerStream(s wire.Stream) stdio.Stream {
	if s == wire.Stderr {
		return stdio.Stderr
	}
	return stdio.Stdout
}
