package pmi

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"time"
)

// How a connection is served. Its one goroutine, the caller of Serve, reads a
// request, acts on it and writes the answer, since clients ask one thing at a
// time. What blocks, a fence or the wait for an attribute, ends with the
// session's context: when Serve's does, or when the rank's process has ended.

// session is one connection of a rank.
type session struct {
	server      *Server
	rank, local int
	conn        net.Conn
	in          *bufio.Reader
	version     int      // of PMI, from init to finalize; 0: otherwise
	next        int      // version once the answer is out
	first       *message // the first request, if it was read to learn the rank

	pending map[string]string // put since the last fence
	size    int               // of these, see maxPuts

	cancel context.CancelFunc
	ended  atomic.Bool   // nobody waits for answers any more
	over   chan struct{} // closed when the session is
}

// Serve answers a rank over conn, which it closes, until the rank hangs up or
// ctx ends. Its error says what of the rank's is not PMI, or cannot be done.
func (s *Server) Serve(ctx context.Context, conn net.Conn, rank int) error {
	c := s.newSession(conn)
	c.rank = rank
	return c.serve(ctx)
}

func (s *Server) newSession(conn net.Conn) *session {
	return &session{
		server: s, conn: conn, in: bufio.NewReaderSize(conn, maxLine),
		pending: map[string]string{}, over: make(chan struct{}),
	}
}

// serve is Serve of a session whose rank is known.
func (c *session) serve(ctx context.Context) error {
	defer c.conn.Close()
	waits, cancel := context.WithCancel(ctx)
	defer cancel()
	c.cancel = cancel
	if err := c.server.enter(c); err != nil {
		return fmt.Errorf("pmi: %w", err)
	}
	defer close(c.over)
	defer c.server.leave(ctx, c)
	defer context.AfterFunc(ctx, func() { c.conn.SetDeadline(time.Unix(1, 0)) })()
	if c.version != 0 { // it has said init before it said its rank
		if err := c.server.joined(c); err != nil {
			return fmt.Errorf("pmi: %w", err)
		}
	}
	err := c.run(waits)
	if waits.Err() != nil || errors.Is(err, io.EOF) {
		return nil
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return nil // it has hung up in the middle
	}
	return fmt.Errorf("pmi: rank %d: %w", c.rank, err)
}

// end ends the session of a rank whose process has ended, after what that has
// sent.
func (c *session) end() {
	if half, ok := c.conn.(interface{ CloseRead() error }); ok {
		half.CloseRead() // what has come is read, and then the end of the stream
	} else {
		c.conn.SetReadDeadline(time.Unix(1, 0))
	}
	c.cancel() // a fence, or a wait: the process asks nothing more
	c.ended.Store(true)
	c.conn.SetWriteDeadline(time.Unix(1, 0)) // of what a child holds open and nobody reads
	<-c.over
}

// run answers until the stream ends.
func (c *session) run(ctx context.Context) error {
	for {
		m, err := c.read()
		if err != nil {
			return err
		}
		answer, err := c.answer(ctx, m)
		if err != nil {
			return err
		}
		if err := c.write(answer...); err != nil && !c.ended.Load() {
			return err
		}
		c.version = c.next
	}
}

// answer acts on a request and returns what to say to it.
func (c *session) answer(ctx context.Context, m message) ([]message, error) {
	switch c.version {
	case 1:
		return c.answer1(ctx, m)
	case 2:
		return c.answer2(ctx, m)
	}
	if m.command != "init" {
		return nil, fmt.Errorf("expected cmd=init, found cmd=%.64s", m.command)
	}
	answer := c.init(m)
	if c.next != 0 {
		if err := c.server.joined(c); err != nil {
			return nil, err
		}
	}
	return []message{answer}, nil
}

// init agrees on a version of PMI and returns the answer.
func (c *session) init(m message) message {
	version, subversion := m.get("pmi_version"), "1" // a server of 1.2 would be asked for barriers of groups
	switch version {
	case "1":
		c.next = 1
	case "2":
		c.next, subversion = 2, "0"
	default:
		return newMessage("response_to_init", "pmi_version", "1", "pmi_subversion", "1", "rc", "-1")
	}
	return newMessage("response_to_init", "pmi_version", version, "pmi_subversion", subversion, "rc", "0")
}

func (c *session) read() (message, error) {
	if c.first != nil {
		m := *c.first
		c.first = nil
		return m, nil
	}
	if c.version == 2 {
		return readFrame(c.in)
	}
	return readLine(c.in)
}

func (c *session) write(messages ...message) error {
	var b []byte
	for _, m := range messages {
		if c.version == 2 {
			b = appendFrame(b, m)
		} else {
			b = appendLine(b, m)
		}
	}
	_, err := c.conn.Write(b)
	return err
}
