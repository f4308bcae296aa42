package rendezvous

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"sync"
	"time"

	"github.com/gorun/gorun/rankenv"
)

// How a connection is used. Callers write requests under a lock and wait for
// their answers; one goroutine reads frames and gives them to the callers. It
// never waits for one: an answer that a caller has not taken yet is queued. It
// ends when the stream does, which close brings about and waits for.

// cancelTimeout is how long a caller whose context has ended waits for the
// server to say who is missing, and close until its goodbye is out. It passes
// only if the server is stopped.
const cancelTimeout = time.Second

// client is the Backend at the other end of a connection. It serves one rank, in
// one epoch at a time: others are refused.
type client struct {
	conn   net.Conn
	reader sync.WaitGroup

	writing chan struct{} // holds a token while a frame is written

	mu     sync.Mutex
	at     seat
	ring   []int
	size   int                // of the next epoch; 0: it has not begun
	last   uint32             // id of the last request
	calls  map[uint32]*answer // under way
	closed bool
	err    error // why the connection is over
}

// answer is what came for one request.
type answer struct {
	mu    sync.Mutex
	queue []message
	more  chan struct{} // holds one token while the queue may not be empty
}

func (a *answer) push(m message) {
	a.mu.Lock()
	a.queue = append(a.queue, m)
	a.mu.Unlock()
	select {
	case a.more <- struct{}{}:
	default:
	}
}

func (a *answer) take() []message {
	a.mu.Lock()
	defer a.mu.Unlock()
	queue := a.queue
	a.queue = nil
	return queue
}

// greet opens a rank's job over conn, which it closes if that fails.
func greet(ctx context.Context, conn net.Conn, rank, size int) (_ *client, err error) {
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	defer func() {
		if !stop() {
			err = ctx.Err()
		}
		if err != nil {
			conn.Close()
		}
	}()
	b, err := frame(0, &helloMsg{magic: protocolMagic, version: protocolVersion, rank: rank, size: size})
	if err != nil {
		return nil, err
	}
	if _, err := conn.Write(b); err != nil {
		return nil, err
	}
	_, m, err := readFrame(conn)
	if err != nil {
		return nil, err
	}
	switch m := m.(type) {
	case *failedMsg:
		return nil, m.err(nil)
	case *welcomeMsg:
		if m.magic != protocolMagic || m.version != protocolVersion {
			return nil, fmt.Errorf("rendezvous: the server speaks version %d of the protocol, want %d", m.version, protocolVersion)
		}
		return &client{conn: conn, at: seat{0, rank}, ring: m.ring, writing: make(chan struct{}, 1), calls: map[uint32]*answer{}}, nil
	}
	return nil, fmt.Errorf("rendezvous: the server answered hello with %T", m)
}

// start starts the reader. A client that was started must be closed.
func (c *client) start() {
	c.reader.Go(func() {
		for {
			id, m, err := readFrame(c.conn)
			if err != nil {
				c.fail(err)
				return
			}
			c.mu.Lock()
			a := c.calls[id]
			c.mu.Unlock()
			if a != nil {
				a.push(m)
			}
		}
	})
}

// fail ends all calls, and those to come, with err.
func (c *client) fail(err error) {
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = fmt.Errorf("rendezvous: connection to the meeting place: %w", err)
	if c.closed {
		c.err = ErrClosed
	}
	for _, a := range c.calls {
		close(a.more)
	}
	c.calls = nil
}

func (c *client) close() error {
	c.mu.Lock()
	again := c.closed
	c.closed = true
	c.mu.Unlock()
	if !again {
		ctx, release := context.WithTimeout(context.Background(), cancelTimeout)
		c.send(ctx, 0, 0, &goodbyeMsg{}) // an error means that there is no server to hear it
		release()
	}
	c.conn.Close()
	c.reader.Wait()
	return nil
}

// send writes one frame. If ctx ends in the middle of it, which takes a server
// that does not read, the connection is of no use any more and is closed.
func (c *client) send(ctx context.Context, epoch int, id uint32, m message) error {
	b, err := frame(id, m)
	if err != nil {
		return err
	}
	select {
	case c.writing <- struct{}{}:
		defer func() { <-c.writing }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := c.enter(epoch, m); err != nil {
		return err
	}
	stopped := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		c.conn.SetWriteDeadline(time.Unix(1, 0))
		close(stopped)
	})
	n, err := c.conn.Write(b)
	if !stop() {
		<-stopped
		c.conn.SetWriteDeadline(time.Time{})
	}
	if err == nil {
		return nil
	}
	if n > 0 {
		c.conn.Close()
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return ErrClosed
	}
	return fmt.Errorf("rendezvous: connection to the meeting place: %w", err)
}

// enter refuses what belongs to another epoch than the server takes next for
// granted. Behind hello that is another one. The token of writing is held.
func (c *client) enter(epoch int, m message) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch m := m.(type) {
	case *cancelMsg, *goodbyeMsg: // are of any
		return nil
	case *helloMsg:
		if epoch == c.at.epoch {
			c.at, c.size = seat{m.epoch, m.rank}, 0
			return nil
		}
	}
	if epoch != c.at.epoch {
		return c.stale(epoch)
	}
	return nil
}

// stale is the error of a call for another epoch. c.mu is held.
func (c *client) stale(epoch int) error {
	return fmt.Errorf("%w: %d, it is %d", ErrStale, epoch, c.at.epoch)
}

// errStop is returned by take to end a call whose last answer has not come.
var errStop = errors.New("rendezvous: caller has enough")

// call sends a request and hands each answer to take until the last, which is
// one that take calls so, or failed.
func (c *client) call(ctx context.Context, epoch int, m message, take func(message) (last bool, err error)) error {
	a := &answer{more: make(chan struct{}, 1)}
	c.mu.Lock()
	if c.err != nil {
		defer c.mu.Unlock()
		return c.err
	}
	for c.last++; c.last == 0 || c.calls[c.last] != nil; c.last++ {
	}
	id := c.last
	c.calls[id] = a
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.calls, id)
		c.mu.Unlock()
	}()
	if err := c.send(ctx, epoch, id, m); err != nil {
		return err
	}

	var patience <-chan time.Time
	ended := ctx.Done()
	for {
		select {
		case _, open := <-a.more:
			for _, m := range a.take() {
				if f, ok := m.(*failedMsg); ok {
					if ctx.Err() != nil && f.code == codeOther {
						return ctx.Err()
					}
					return f.err(ctx.Err())
				}
				last, err := take(m)
				if err == errStop {
					return c.cancel(ctx, id)
				}
				if last || err != nil {
					return err
				}
			}
			if !open {
				c.mu.Lock()
				defer c.mu.Unlock()
				return c.err
			}
		case <-ended:
			ended = nil
			if err := c.cancel(ctx, id); err != nil {
				return ctx.Err()
			}
			timer := time.NewTimer(cancelTimeout)
			defer timer.Stop()
			patience = timer.C
		case <-patience:
			return ctx.Err()
		}
	}
}

// cancel tells the server that a request's answers are not wanted any more,
// whether or not ctx has ended.
func (c *client) cancel(ctx context.Context, id uint32) error {
	ctx, release := context.WithTimeout(context.WithoutCancel(ctx), cancelTimeout)
	defer release()
	return c.send(ctx, 0, id, &cancelMsg{})
}

// last makes a take of one answer, of type M.
func last[M message](use func(M)) func(message) (bool, error) {
	return func(m message) (bool, error) {
		want, ok := m.(M)
		if !ok {
			return true, unexpected(m)
		}
		use(want)
		return true, nil
	}
}

func unexpected(m message) error {
	return fmt.Errorf("rendezvous: the server answered with %T", m)
}

// Open is how the Job of the connection's rank begins an epoch.
func (c *client) Open(ctx context.Context, epoch, rank int) ([]int, error) {
	c.mu.Lock()
	at, size, ring := c.at, c.size, c.ring
	c.mu.Unlock()
	if (at == seat{epoch, rank}) {
		return ring, nil
	}
	if epoch != at.epoch+1 || size == 0 {
		return nil, fmt.Errorf("rendezvous: the connection was made for rank %d of epoch %d, not %d of %d", at.rank, at.epoch, rank, epoch)
	}
	hello := &helloMsg{magic: protocolMagic, version: protocolVersion, epoch: epoch, rank: rank, size: size}
	err := c.call(ctx, at.epoch, hello, last(func(m *welcomeMsg) {
		c.mu.Lock()
		defer c.mu.Unlock()
		ring, c.ring = m.ring, m.ring
	}))
	if err != nil {
		c.conn.Close() // which epoch the server is in is not known any more
		return nil, err
	}
	return ring, nil
}

func (c *client) NextEpoch(ctx context.Context, after, rank int) (w rankenv.World, departed []int, err error) {
	if err := c.own(after, rank); err != nil {
		return w, nil, err
	}
	err = c.call(ctx, after, &nextMsg{}, last(func(m *placeMsg) {
		w, departed = m.world, m.departed
		c.mu.Lock()
		defer c.mu.Unlock()
		c.size = w.Size
	}))
	return w, departed, err
}

func (c *client) Put(ctx context.Context, epoch int, key string, value []byte) error {
	if err := CheckValue(key, value); err != nil {
		return err
	}
	return c.call(ctx, epoch, &putMsg{keyed{key, value}}, last(func(*doneMsg) {}))
}

func (c *client) Get(ctx context.Context, epoch int, key string) (value []byte, err error) {
	if err := CheckValue(key, nil); err != nil {
		return nil, err
	}
	err = c.call(ctx, epoch, &getMsg{key}, last(func(m *valueMsg) { value = m.value }))
	return value, err
}

func (c *client) Offer(ctx context.Context, epoch, rank int, key string, value []byte) error {
	if err := c.own(epoch, rank); err != nil {
		return err
	}
	if err := CheckValue(key, value); err != nil {
		return err
	}
	return c.call(ctx, epoch, &offerMsg{keyed{key, value}}, last(func(*doneMsg) {}))
}

func (c *client) Fetch(ctx context.Context, epoch, rank int, key string) (value []byte, err error) {
	if size := c.ranks(); rank < 0 || rank >= size {
		return nil, fmt.Errorf("rendezvous: rank is %d, want 0 to %d", rank, size-1)
	}
	if err := CheckValue(key, nil); err != nil {
		return nil, err
	}
	err = c.call(ctx, epoch, &fetchMsg{rank, key}, last(func(m *valueMsg) { value = m.value }))
	return value, err
}

func (c *client) Barrier(ctx context.Context, epoch, rank int, name string) error {
	if err := c.own(epoch, rank); err != nil {
		return err
	}
	if err := CheckValue(name, nil); err != nil {
		return err
	}
	return c.call(ctx, epoch, &barrierMsg{name}, last(func(*doneMsg) {}))
}

// own refuses ranks that are not the connection's.
func (c *client) own(epoch, rank int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if epoch != c.at.epoch {
		return c.stale(epoch)
	}
	if rank != c.at.rank {
		return fmt.Errorf("rendezvous: the connection was made for rank %d, not %d", c.at.rank, rank)
	}
	return nil
}

// ranks returns the number of ranks of the epoch.
func (c *client) ranks() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.ring)
}

func (c *client) Exchange(ctx context.Context, epoch, rank int, name string, value []byte) ([][]byte, error) {
	if err := c.own(epoch, rank); err != nil {
		return nil, err
	}
	if err := CheckValue(name, value); err != nil {
		return nil, err
	}
	size := c.ranks()
	all := make([][]byte, 0, size)
	err := c.call(ctx, epoch, &exchangeMsg{keyed{name, value}}, func(m message) (bool, error) {
		switch m := m.(type) {
		case *valuesMsg:
			if len(all)+len(m.values) > size {
				return true, fmt.Errorf("rendezvous: the server answered with more than %d values", size)
			}
			// A few bytes of each: they are the caller's, and must not hold the
			// frame.
			for _, v := range m.values {
				all = append(all, bytes.Clone(v))
			}
			return false, nil
		case *doneMsg:
			if len(all) != size {
				return true, fmt.Errorf("rendezvous: the server answered with %d values, want %d", len(all), size)
			}
			return true, nil
		}
		return true, unexpected(m)
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

func (c *client) Lost(ctx context.Context, epoch int) (gone []int, err error) {
	err = c.call(ctx, epoch, &lostMsg{}, last(func(m *ranksMsg) { gone = m.ranks }))
	return gone, err
}

func (c *client) Events(ctx context.Context, epoch int) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		stopped := false
		err := c.call(ctx, epoch, &eventsMsg{}, func(m message) (bool, error) {
			ev, ok := m.(*eventMsg)
			if !ok {
				return true, unexpected(m)
			}
			if !yield(ev.event, nil) {
				stopped = true
				return true, errStop
			}
			return false, nil
		})
		if err != nil && !stopped {
			yield(Event{}, err)
		}
	}
}
