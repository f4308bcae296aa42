package launcher

import (
	"fmt"

	"github.com/gorun/gorun/launcher/wire"
)

// read is the goroutine that receives from one agent. It passes output on and
// leaves decisions to the supervisor. It ends with the stream.
func (l *launch) read(h *host) {
	for {
		m, err := h.conn.Receive()
		if err == nil {
			h.heard.Store(l.elapsed())
			err = l.receive(h, m)
		}
		if err != nil {
			l.mail.post(letter{from: h, err: err}, 0)
			return
		}
	}
}

func (l *launch) receive(h *host, m wire.Message) error {
	switch m := m.(type) {
	case *wire.Output:
		if err := l.owns(h, m.Rank, m.Stream); err != nil {
			return err
		}
		l.printer.add(printItem{from: h, output: m})
	case *wire.OutputEnd:
		if err := l.owns(h, m.Rank, m.Stream); err != nil {
			return err
		}
		l.printer.add(printItem{from: h, end: m})
	case *wire.Heartbeat:
		h.conn.Send(&wire.Echo{Sent: m.Clock, Clock: l.elapsed()})
	case *wire.Echo:
		h.mu.Lock()
		h.clock.observe(m.Sent, m.Clock, l.elapsed())
		h.mu.Unlock()
	case *wire.Relay:
		if m.Node < 0 || m.Node >= len(l.hosts) {
			return fmt.Errorf("the agent sent a message for node %d of %d", m.Node, len(l.hosts))
		}
		l.hosts[m.Node].conn.Send(&wire.Relay{Node: h.node, Payload: m.Payload})
	default:
		if rank, ok := about(m); ok && !l.seated(h, rank) {
			return fmt.Errorf("the agent sent a %T of rank %d, which is not on its host", m, rank)
		}
		return l.mail.post(letter{from: h, message: m}, len(l.plan.Hosts[h.node].Seats))
	}
	return nil
}

// about returns the rank that a message is about, if it is about one.
func about(m wire.Message) (rank int, ok bool) {
	switch m := m.(type) {
	case *wire.Started:
		return m.Rank, true
	case *wire.NotStarted:
		return m.Rank, true
	case *wire.Joined:
		return m.Rank, true
	case *wire.Exited:
		return m.Rank, true
	case *wire.Stack:
		return m.Rank, true
	}
	return 0, false
}

// owns refuses output of another host's ranks, and of a stream that there is not.
func (l *layout) owns(h *host, rank int, s wire.Stream) error {
	switch {
	case !l.seated(h, rank):
		return fmt.Errorf("the agent sent output of rank %d, which is not on its host", rank)
	case s != wire.Stdout && s != wire.Stderr:
		return fmt.Errorf("the agent sent output of rank %d in stream %d, expected %d or %d", rank, s, wire.Stdout, wire.Stderr)
	}
	return nil
}
