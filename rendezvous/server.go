package rendezvous

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/gorun/gorun/rendezvous/internal/accept"
)

// How a connection is served. Serve accepts; each connection has one goroutine
// that reads requests, and each request one that runs it and writes the answer
// under the connection's lock. The reader ends when the stream does or ctx ends,
// cancels the requests and waits for them; Serve waits for the readers.

// helloTimeout bounds how long a connection over a network may stay silent. It
// does not hold on Unix sockets: there, a connection handed out but not used yet
// is no burden.
const helloTimeout = 10 * time.Second

// Serve answers Jobs that connect through l, on behalf of the ranks of b. It
// returns nil when ctx ends, or when l is closed and the connections it made
// have ended, and otherwise the error of accepting, which ends them. It closes l.
//
// Of a Unix socket, only peers of this process's user, and root, are answered;
// where the system cannot tell (anything but Linux), the folder's mode decides.
func Serve(ctx context.Context, l net.Listener, b Backend) error {
	return serve(ctx, l, b, nil)
}

// serve is Serve that admits a connection by accept, which may replace it.
func serve(ctx context.Context, l net.Listener, b Backend, admit func(net.Conn) (net.Conn, error)) error {
	err := accept.Each(ctx, l, func(conn net.Conn) {
		if admit != nil {
			admitted, err := admit(conn)
			if err != nil {
				return
			}
			conn = admitted
		}
		if ownPeer(conn) {
			serveConn(ctx, conn, b)
		}
	})
	if err != nil {
		return fmt.Errorf("rendezvous: accept: %w", err)
	}
	return nil
}

// session is one connection of a rank.
type session struct {
	backend Backend
	at      seat // of the requests to come; the reader's
	closed  bool // the rank has said goodbye; the reader's

	writing sync.Mutex // one frame at a time
	conn    net.Conn

	mu       sync.Mutex
	requests map[uint32]context.CancelFunc
}

// seat is whom a request is from.
type seat struct{ epoch, rank int }

// serveConn serves one connection until it ends. A peer that breaks the
// protocol is hung up on.
func serveConn(ctx context.Context, conn net.Conn, b Backend) {
	ctx, cancel := context.WithCancel(ctx)
	s := &session{backend: b, conn: conn, requests: map[uint32]context.CancelFunc{}}
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	if err := s.greet(ctx); err != nil {
		return
	}
	if a, ok := b.(Attendant); ok {
		left := a.Attend(s.at.epoch, s.at.rank, conn)
		defer func() {
			if ctx.Err() == nil {
				left(s.closed)
			}
		}()
	}
	for {
		id, m, err := readFrame(conn)
		if err != nil {
			return
		}
		if _, s.closed = m.(*goodbyeMsg); s.closed {
			return
		}
		if _, ok := m.(*cancelMsg); ok {
			s.mu.Lock()
			if cancel := s.requests[id]; cancel != nil {
				cancel()
			}
			s.mu.Unlock()
			continue
		}
		if h, ok := m.(*helloMsg); ok {
			if err := s.welcome(ctx, id, h); err != nil && ctx.Err() != nil {
				return
			}
			continue
		}
		request, cancel := context.WithCancel(ctx)
		s.mu.Lock()
		busy, twice := len(s.requests) >= maxRequests, s.requests[id] != nil
		if !busy && !twice {
			s.requests[id] = cancel
		}
		s.mu.Unlock()
		if twice {
			cancel()
			return
		}
		if busy {
			cancel()
			s.send(id, &failedMsg{text: fmt.Sprintf("rendezvous: rank %d has %d calls under way", s.at.rank, maxRequests)})
			continue
		}
		at := s.at
		running.Go(func() {
			answer := s.run(request, at, id, m)
			cancel()
			if ctx.Err() != nil {
				return // the server's own end is no answer
			}
			s.mu.Lock()
			delete(s.requests, id)
			s.mu.Unlock()
			if err := s.send(id, answer); err != nil {
				s.conn.Close() // the reader ends the rest
			}
		})
	}
}

// greet answers hello.
func (s *session) greet(ctx context.Context) error {
	if s.conn.LocalAddr().Network() != "unix" {
		s.conn.SetDeadline(time.Now().Add(helloTimeout))
		defer s.conn.SetDeadline(time.Time{})
	}
	_, m, err := readFrame(s.conn)
	if err != nil {
		return err
	}
	h, ok := m.(*helloMsg)
	if !ok || h.magic != protocolMagic {
		return errors.New("rendezvous: the peer does not speak the protocol")
	}
	return s.welcome(ctx, 0, h)
}

// welcome answers hello, the first or a later one. After an error the session
// is what it was.
func (s *session) welcome(ctx context.Context, id uint32, h *helloMsg) error {
	var ring []int
	var err error
	if h.version == protocolVersion {
		ring, err = s.backend.Open(ctx, h.epoch, h.rank)
	} else {
		err = fmt.Errorf("rendezvous: rank %d speaks version %d of the protocol, want %d", h.rank, h.version, protocolVersion)
	}
	if err == nil && len(ring) != h.size {
		err = fmt.Errorf("rendezvous: rank %d of %d opened a job of %d ranks", h.rank, h.size, len(ring))
	}
	if err != nil {
		s.send(id, failure(err))
		return err
	}
	s.at = seat{h.epoch, h.rank}
	return s.send(id, &welcomeMsg{magic: protocolMagic, version: protocolVersion, ring: ring})
}

// send writes one frame.
func (s *session) send(id uint32, m message) error {
	b, err := frame(id, m)
	if err != nil {
		if b, err = frame(id, failure(err)); err != nil {
			return err
		}
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	_, err = s.conn.Write(b)
	return err
}

// run runs one request and returns its last answer.
func (s *session) run(ctx context.Context, at seat, id uint32, m message) message {
	switch m := m.(type) {
	case *putMsg:
		if err := s.backend.Put(ctx, at.epoch, m.key, m.value); err != nil {
			return failure(err)
		}
		return &doneMsg{}
	case *getMsg:
		v, err := s.backend.Get(ctx, at.epoch, m.key)
		if err != nil {
			return failure(err)
		}
		return &valueMsg{v}
	case *offerMsg:
		if err := s.backend.Offer(ctx, at.epoch, at.rank, m.key, m.value); err != nil {
			return failure(err)
		}
		return &doneMsg{}
	case *fetchMsg:
		v, err := s.backend.Fetch(ctx, at.epoch, m.rank, m.key)
		if err != nil {
			return failure(err)
		}
		return &valueMsg{v}
	case *barrierMsg:
		if err := s.backend.Barrier(ctx, at.epoch, at.rank, m.name); err != nil {
			return failure(err)
		}
		return &doneMsg{}
	case *exchangeMsg:
		vs, err := s.backend.Exchange(ctx, at.epoch, at.rank, m.key, m.value)
		if err != nil {
			return failure(err)
		}
		for len(vs) > 0 {
			n, size := 0, 0
			for n < len(vs) && (n == 0 || size+4+len(vs[n]) <= maxValues) {
				size += 4 + len(vs[n])
				n++
			}
			if err := s.send(id, &valuesMsg{vs[:n]}); err != nil {
				return failure(err)
			}
			vs = vs[n:]
		}
		return &doneMsg{}
	case *nextMsg:
		w, departed, err := s.backend.NextEpoch(ctx, at.epoch, at.rank)
		if err != nil {
			return failure(err)
		}
		return &placeMsg{w, departed}
	case *lostMsg:
		gone, err := s.backend.Lost(ctx, at.epoch)
		if err != nil {
			return failure(err)
		}
		return &ranksMsg{gone}
	case *eventsMsg:
		for ev, err := range s.backend.Events(ctx, at.epoch) {
			if err != nil {
				return failure(err)
			}
			if err := s.send(id, &eventMsg{ev}); err != nil {
				return failure(err)
			}
		}
		return &doneMsg{}
	}
	return &failedMsg{text: fmt.Sprintf("rendezvous: %T is not a request", m)}
}
