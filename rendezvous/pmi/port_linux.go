package pmi

import (
	"bufio"
	"context"
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

// helloTimeout bounds how long a connection may stay without its first line.
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
	in := bufio.NewReaderSize(conn, maxLine)
	m, err := readLine(in)
	if err != nil || m.command != "initack" {
		return nil
	}
	rank, err := strconv.Atoi(m.get("pmiid"))
	if err != nil {
		return nil
	}
	var b []byte
	for _, m := range []message{
		newMessage("initack"),
		newMessage("set", "size", strconv.Itoa(s.size)),
		newMessage("set", "rank", strconv.Itoa(rank)),
		newMessage("set", "debug", "0"),
	} {
		b = appendLine(b, m)
	}
	if _, err := conn.Write(b); err != nil {
		return nil
	}
	conn.SetDeadline(time.Time{})
	return s.serve(ctx, conn, in, rank)
}
