package wire

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
)

// ErrClosed is the error of sending on a Conn that was closed.
var ErrClosed = errors.New("wire: connection is closed")

// bulkFrames is how many frames of output or file data wait at most in a
// Conn. More would only be memory: the pipe below holds some as well.
const bulkFrames = 8

// The buffers hold small frames together. They are smaller than a frame of
// bulk, so that its data goes between its chunk and the stream without a copy.
const (
	readBuffer  = 4 << 10
	writeBuffer = 8 << 10
)

// Conn carries messages over a byte stream. Sending is safe for concurrent
// use; one goroutine at a time may receive.
//
// A goroutine of the Conn writes. It ends with the first error, or by Close.
type Conn struct {
	r      *bufio.Reader
	stream io.ReadWriteCloser
	buf    []byte // for payloads of control messages
	done   chan struct{}

	mu      sync.Mutex
	work    sync.Cond // something to write, or closing
	room    sync.Cond // bulk has room, or closing
	control []byte    // encoded frames
	shared  [][]byte  // and before them these
	bulk    []frame
	closing bool  // write what is queued, then end
	err     error // why nothing is written any more
}

// frame is an encoded frame, or a chunk that is one with its first n bytes.
type frame struct {
	bytes []byte
	chunk *Chunk
}

// NewConn starts a connection on stream, which it owns from now on.
func NewConn(stream io.ReadWriteCloser) *Conn {
	c := &Conn{r: bufio.NewReaderSize(stream, readBuffer), stream: stream, done: make(chan struct{})}
	c.work.L, c.room.L = &c.mu, &c.mu
	go c.write()
	return c
}

// Send queues a control message. It does not block: the peer is slow at
// reading only for as long as its lease lasts. An error means that m was not
// queued and, unless it is ErrTooLarge, that nothing more will be sent.
func (c *Conn) Send(m Message) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.stateLocked(); err != nil {
		return err
	}
	return c.queueLocked(m)
}

// SendIdle is Send, but drops m if anything is waiting to be written already:
// to a peer that reads nothing, however long, the queue does not grow.
func (c *Conn) SendIdle(m Message) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.stateLocked(); err != nil || !c.idleLocked() {
		return err
	}
	return c.queueLocked(m)
}

// queueLocked adds a control message to what is to be written.
func (c *Conn) queueLocked(m Message) (err error) {
	if c.control, err = appendFrame(c.control, m); err == nil {
		c.work.Signal()
	}
	return err
}

// Shared is a message encoded once, to be sent on many connections.
type Shared struct{ frame []byte }

// Share encodes a message.
func Share(m Message) (Shared, error) {
	frame, err := appendFrame(nil, m)
	return Shared{frame}, err
}

// SendShared is Send without encoding. However many connections have it
// queued, the message is in memory once.
func (c *Conn) SendShared(m Shared) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.stateLocked(); err != nil {
		return err
	}
	if len(c.control) > 0 {
		c.shared = append(c.shared, c.control)
		c.control = nil
	}
	c.shared = append(c.shared, m.frame)
	c.work.Signal()
	return nil
}

// SendBulk queues a message behind all control and blocks while bulkFrames
// are waiting.
func (c *Conn) SendBulk(m Message) error {
	b, err := appendFrame(nil, m)
	if err != nil {
		return err
	}
	return c.queue(frame{bytes: b})
}

// SendOutput queues the first n bytes of chunk's room as o.Data, as SendBulk
// does, and releases the chunk when they were written.
func (c *Conn) SendOutput(o *Output, chunk *Chunk, n int) error {
	b := chunk.buf[:frameHeader+outputHeader+n]
	o.putHeader(b)
	binary.BigEndian.PutUint32(b[1:], uint32(outputHeader+n))
	return c.queue(frame{bytes: b, chunk: chunk})
}

func (c *Conn) queue(f frame) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.bulk) >= bulkFrames && c.stateLocked() == nil {
		c.room.Wait()
	}
	if err := c.stateLocked(); err != nil {
		return err
	}
	c.bulk = append(c.bulk, f)
	c.work.Signal()
	return nil
}

func (c *Conn) stateLocked() error {
	if c.err == nil && c.closing {
		return ErrClosed
	}
	return c.err
}

func (c *Conn) write() {
	defer close(c.done)
	if err := c.empty(bufio.NewWriterSize(c.stream, writeBuffer)); err != nil {
		c.fail(err)
	}
}

// empty writes what the queues hold, control first, until the connection ends.
func (c *Conn) empty(w *bufio.Writer) error {
	var control []byte
	for {
		if err := c.flushIfIdle(w); err != nil {
			return err
		}
		var shared [][]byte
		var bulk frame
		var ok bool
		if shared, control, bulk, ok = c.next(control); !ok {
			return w.Flush()
		}
		var err error
		for _, b := range append(shared, control) {
			if err == nil {
				err = writePieces(w, b)
			}
		}
		if err == nil {
			_, err = w.Write(bulk.bytes)
		}
		if bulk.chunk != nil {
			bulk.chunk.Release()
		}
		if err != nil {
			return err
		}
	}
}

// writePieces writes b in pieces. An SSH connection keeps memory for twice the
// longest packet that it has ever sent, and a large job has a thousand
// connections, most of which never send a long message after Start.
func writePieces(w io.Writer, b []byte) error {
	for len(b) > 0 {
		n, err := w.Write(b[:min(len(b), writeBuffer)])
		if err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// flushIfIdle lets go of what was written if nothing follows. Others may be
// about to send, as when many ranks end at once: they get one turn, and their
// frames go with the same system call.
func (c *Conn) flushIfIdle(w *bufio.Writer) error {
	if w.Buffered() == 0 || !c.idle() {
		return nil
	}
	if runtime.Gosched(); !c.idle() {
		return nil
	}
	return w.Flush()
}

func (c *Conn) idle() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.idleLocked()
}

// idleLocked says that there is nothing to write and no reason to end.
func (c *Conn) idleLocked() bool {
	return len(c.shared)+len(c.control)+len(c.bulk) == 0 && !c.closing && c.err == nil
}

// next blocks for all control that is queued or, if there is none, one bulk
// frame. It is not ok at the end. The memory of used is taken for what is
// queued next.
func (c *Conn) next(used []byte) (shared [][]byte, control []byte, bulk frame, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.idleLocked() {
		c.work.Wait()
	}
	if c.err != nil {
		return nil, nil, frame{}, false
	}
	if cap(used) > 64<<10 {
		used = nil // one large message is no reason to keep its memory
	}
	shared, c.shared = c.shared, nil
	control, c.control = c.control, used[:0]
	if len(shared)+len(control) > 0 {
		return shared, control, frame{}, true
	}
	if len(c.bulk) == 0 {
		return nil, nil, frame{}, false
	}
	bulk = c.bulk[0]
	c.bulk = append(c.bulk[:0], c.bulk[1:]...)
	c.room.Signal()
	return nil, control, bulk, true
}

// fail ends sending with err.
func (c *Conn) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = err
	}
	c.work.Broadcast()
	c.room.Broadcast()
}

// Receive blocks for the next message. At the end of the stream the error is
// io.EOF. An Output must be released by its receiver.
func (c *Conn) Receive() (Message, error) {
	var h [frameHeader]byte
	if _, err := io.ReadFull(c.r, h[:]); err != nil {
		return nil, err
	}
	n := int(binary.BigEndian.Uint32(h[1:]))
	if h[0] == outputType {
		return readOutput(c.r, n)
	}
	if n > MaxFrame {
		return nil, fmt.Errorf("wire: frame of %d bytes, expected at most %d", n, MaxFrame)
	}
	// Grow with what really comes, not with what the header promises.
	c.buf = c.buf[:0]
	for len(c.buf) < n {
		step := min(n-len(c.buf), 64<<10)
		at := len(c.buf)
		c.buf = append(c.buf, make([]byte, step)...)
		if _, err := io.ReadFull(c.r, c.buf[at:]); err != nil {
			return nil, unexpected(err)
		}
	}
	m, err := decode(h[0], c.buf)
	if cap(c.buf) > 256<<10 {
		c.buf = nil
	}
	return m, err
}

func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// Drain ends sending and blocks until what was queued is written, or writing
// failed. The stream stays open for receiving.
func (c *Conn) Drain() {
	c.mu.Lock()
	c.closing = true
	c.work.Broadcast()
	c.room.Broadcast()
	c.mu.Unlock()
	<-c.done
}

// Close drops what is queued, closes the stream, which ends a blocked
// Receive, and waits for the writing goroutine.
func (c *Conn) Close() error {
	c.fail(ErrClosed)
	err := c.stream.Close()
	<-c.done
	return err
}
