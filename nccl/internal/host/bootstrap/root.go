package bootstrap

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"
)

// rootLifetime is how long a Root waits for ranks to come.
const rootLifetime = time.Hour

// recordTimeout is how long a rank may take to say where it listens, after the handshake.
const recordTimeout = 10 * time.Second

// The Root's answers begin with one of these bytes. An address follows, the
// text of an error, or the ranks that are missing as numbers of four bytes.
const (
	answerNext    = 0
	answerRefused = 1
	answerMissing = 2
)

// askMissing is what a rank sends to hear who is missing.
const askMissing = '?'

// Root tells each rank the address of the rank after it. Its goroutines end
// when all ranks have been told, in Close, or after an hour.
type Root struct {
	listener *listener
	life     context.Context // ends with the Root
	stop     context.CancelFunc
	running  sync.WaitGroup
	full     chan struct{} // closed when all have been told

	mu    sync.Mutex
	seats []seat // by rank; as many as the first to come said
	told  int
}

// seat is what a Root knows of a rank: nothing before it has come.
type seat struct {
	conn net.Conn
	addr []byte // where it listens
}

// Listen starts a Root at addr and returns the ID that leads to it.
func Listen(addr netip.Addr) (*Root, ID, error) {
	tcp, err := listen(addr)
	if err != nil {
		return nil, ID{}, err
	}
	id := newID(tcp.Addr().(*net.TCPAddr).AddrPort())
	ctx, cancel := context.WithTimeout(context.Background(), rootLifetime)
	r := &Root{listener: serve(tcp, id.keys(), toRoot, 0), life: ctx, stop: cancel, full: make(chan struct{})}
	r.running.Go(func() {
		defer cancel()
		r.serve(ctx)
	})
	return r, id, nil
}

// Context returns a context that ends with the Root.
func (r *Root) Context() context.Context { return r.life }

// Close ends the Root and waits for its goroutines.
func (r *Root) Close() {
	r.stop()
	r.running.Wait()
}

// serve receives ranks until all have been told.
func (r *Root) serve(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	var guests sync.WaitGroup
	defer guests.Wait()
	defer r.listener.close()
	defer cancel()
	for {
		select {
		case a := <-r.listener.arrived:
			guests.Go(func() { r.receive(ctx, a) })
		case <-r.full:
			return
		case <-ctx.Done():
			return
		}
	}
}

// receive serves one rank until it goes.
func (r *Root) receive(ctx context.Context, a arrival) {
	defer a.conn.Close()
	unlimit := limit(ctx, a.conn, recordTimeout)
	addr, err := readFrame(a.conn)
	if !unlimit() || err != nil {
		return
	}
	if err := r.admit(a, addr); err != nil {
		writeFrame(a.conn, append([]byte{answerRefused}, err.Error()...))
		return
	}
	defer limit(ctx, a.conn, 0)()
	var ask [1]byte
	for {
		if _, err := a.conn.Read(ask[:]); err != nil || ask[0] != askMissing {
			return
		}
		r.tellMissing(a.conn)
	}
}

// admit seats a rank that listens at addr, and tells those who waited for that,
// itself or the rank before.
func (r *Root) admit(a arrival, addr []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	rank, size := int(a.hello.from), int(a.hello.size)
	switch {
	case size < 1 || size > MaxSize || rank >= size:
		return fmt.Errorf("rank %d of %d, want 0 ≤ rank < size ≤ %d", rank, size, MaxSize)
	case r.seats == nil:
		r.seats = make([]seat, size)
	case size != len(r.seats):
		return fmt.Errorf("rank %d says that there are %d ranks, others said %d", rank, size, len(r.seats))
	case r.seats[rank].addr != nil:
		return fmt.Errorf("rank %d has come twice, from %v and %v", rank, r.seats[rank].conn.RemoteAddr(), a.conn.RemoteAddr())
	}
	r.seats[rank] = seat{a.conn, addr}
	r.tell((rank + size - 1) % size)
	if size > 1 {
		r.tell(rank)
	}
	if r.told == size {
		close(r.full)
	}
	return nil
}

// tell tells a rank where the one after it listens, once both have come. r.mu is held.
func (r *Root) tell(rank int) {
	s, next := r.seats[rank], r.seats[(rank+1)%len(r.seats)]
	if s.addr != nil && next.addr != nil {
		writeFrame(s.conn, append([]byte{answerNext}, next.addr...))
		r.told++
	}
}

// tellMissing answers askMissing.
func (r *Root) tellMissing(conn net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	answer := []byte{answerMissing}
	for rank, s := range r.seats {
		if s.addr == nil && len(answer)+4 <= maxFrame {
			answer = binary.BigEndian.AppendUint32(answer, uint32(rank))
		}
	}
	writeFrame(conn, answer)
}

// Seated returns how many ranks have come.
func (r *Root) Seated() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, s := range r.seats {
		if s.addr != nil {
			n++
		}
	}
	return n
}
