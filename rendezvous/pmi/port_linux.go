package pmi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/gorun/gorun/rendezvous/internal/accept"
)

// The other way in: PMI_PORT=127.0.0.1:port and PMI_ID=rank. It costs a host one
// listener, whatever the number of its ranks, and it is found by a program behind
// others that close what they inherit. The client says who it is, and is told
// what PMI_FD's clients have from PMI_RANK and PMI_SIZE:
//
//	C  cmd=initack pmiid=3
//	S  cmd=initack
//	S  cmd=set size=8
//	S  cmd=set rank=3
//	S  cmd=set debug=0
//
// Slurm's client of PMI-2 begins as it would with PMI_FD, and says in its first
// frame who it is:
//
//	C  cmd=init pmi_version=2 pmi_subversion=0
//	S  cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0
//	C  36    cmd=fullinit;srcid=3;threaded=FALSE;

// helloTimeout bounds how long a connection may stay without its rank.
const helloTimeout = 10 * time.Second

// ServePort answers the ranks that connect through l, which listens on the
// loopback interface, until ctx ends, and closes it. Processes of other users
// are hung up on; root's are not. Problems of single ranks go to note.
func (s *Server) ServePort(ctx context.Context, l net.Listener, note func(error)) error {
	err := accept.Each(ctx, l, func(conn net.Conn) {
		if err := s.greet(ctx, conn); err != nil && ctx.Err() == nil {
			note(err)
		}
	})
	if err != nil {
		return fmt.Errorf("pmi: accept: %w", err)
	}
	return nil
}

// greet serves a connection once it has said whose it is. One that does not
// come from a rank is not worth a word.
func (s *Server) greet(ctx context.Context, conn net.Conn) error {
	if !ownLoopbackPeer(conn) {
		return nil
	}
	conn.SetDeadline(time.Now().Add(helloTimeout))
	c := s.newSession(conn)
	if err := c.introduce(); err != nil {
		return nil
	}
	conn.SetDeadline(time.Time{})
	return c.serve(ctx)
}

// introduce learns whose the connection is.
func (c *session) introduce() error {
	m, err := readLine(c.in)
	if err != nil {
		return err
	}
	switch {
	case m.command == "initack":
		if c.rank, err = strconv.Atoi(m.get("pmiid")); err != nil {
			return err
		}
		return c.write(
			newMessage("initack"),
			newMessage("set", "size", strconv.Itoa(c.server.size)),
			newMessage("set", "rank", strconv.Itoa(c.rank)),
			newMessage("set", "debug", "0"),
		)
	case m.command == "init" && m.get("pmi_version") == "2":
		if err := c.write(c.init(m)); err != nil {
			return err
		}
		c.version = c.next
		if m, err = c.read(); err != nil {
			return err
		}
		c.first = &m
		c.rank, err = strconv.Atoi(cmp.Or(m.get("pmirank"), m.get("srcid")))
		return err
	}
	return errors.New("it says neither initack nor init of PMI-2")
}
