package gossip

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gorun/gorun/rendezvous"
	"github.com/gorun/gorun/rendezvous/internal/codec"
)

// Report tells the ranks of all hosts of an event, such as the launcher's
// verdict that ranks are Lost. The same event, with the same Time, may be
// reported at several members, so that it gets through if one of them does not.
func (n *Node) Report(ev rendezvous.Event) error {
	if err := n.closed(nil); err != nil {
		return err
	}
	if n.list == nil {
		return n.known.Report(ev)
	}
	if ev.Time.IsZero() {
		ev.Time = time.Now()
	}
	form, err := ev.AppendBinary(nil)
	if err != nil {
		return fmt.Errorf("gossip: event cannot be passed on: %w", err)
	}
	b, err := write(&event{form})
	if err != nil {
		return fmt.Errorf("gossip: %w", err)
	}
	if !n.ledger.claim(b) {
		return nil
	}
	if err := n.happened(ev); err != nil {
		return err
	}
	n.ledger.enter(entry{b, n.self})
	return nil
}

// happened lets an event act at this member.
func (n *Node) happened(ev rendezvous.Event) error {
	if err := n.known.Report(ev); err != nil {
		return err
	}
	if ev.Kind != rendezvous.Lost {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, rank := range ev.Ranks {
		n.lost[rank] = true
	}
	n.rewire()
	return nil
}

// publish enters a record of this member.
func (n *Node) publish(r record) error {
	b, err := write(r)
	if err != nil {
		return fmt.Errorf("gossip: %w", err)
	}
	if n.ledger.claim(b) {
		n.ledger.enter(entry{b, n.self})
	}
	return nil
}

// envelope returns the message with records for a node.
func (n *Node) envelope(to int, records [][]byte) ([]byte, error) {
	n.mu.Lock()
	heard := n.heard[to]
	n.mu.Unlock()
	c := codec.Writer(nil)
	(&message{from: n.self, heard: heard, records: records}).fields(c)
	return c.Written()
}

// Deliver takes a message that the Relay of the member of node from sent to this
// one. It does not block and does not keep message.
func (n *Node) Deliver(from int, message []byte) error {
	if err := n.closed(nil); err != nil {
		return err
	}
	if n.list == nil {
		return fmt.Errorf("gossip: message from node %d, but the job has one host", from)
	}
	return n.receive(from, message, false)
}

// receive lets the records of a message act that have not yet, and passes them
// on. from is -1 if only the message says whose it is.
func (n *Node) receive(from int, b []byte, direct bool) error {
	if len(b) > MaxMessage {
		return fmt.Errorf("gossip: message has %d bytes, at most %d are allowed", len(b), MaxMessage)
	}
	var m message
	c := codec.Reader(b)
	m.fields(c)
	if err := c.End(); err != nil {
		return fmt.Errorf("gossip: malformed message: %w", err)
	}
	if m.epoch != 0 {
		return fmt.Errorf("gossip: message of epoch %d: %w", m.epoch, rendezvous.ErrStale)
	}
	if m.from >= len(n.conf.Roster) || m.from == n.self || from >= 0 && m.from != from {
		return fmt.Errorf("gossip: message of node %d came to node %d from node %d", m.from, n.self, from)
	}
	n.mu.Lock()
	if direct {
		n.heard[m.from] = true
	}
	e := n.edges[m.from]
	n.mu.Unlock()
	if e != nil && m.heard {
		e.set(func() { e.works = true })
	}
	var errs []error
	for _, b := range m.records {
		r, err := read(b)
		if err != nil {
			errs = append(errs, fmt.Errorf("gossip: malformed record of node %d: %w", m.from, err))
			continue
		}
		if !n.ledger.claim(b) {
			continue
		}
		if err := n.apply(r); err != nil {
			errs = append(errs, fmt.Errorf("gossip: record of node %d: %w", m.from, err))
			continue
		}
		e := entry{bytes.Clone(b), m.from}
		if r, ok := r.(*arrivals); ok {
			n.forward(r, e.record, e.from)
		} else {
			n.ledger.enter(e)
		}
	}
	return errors.Join(errs...)
}

// apply lets a record of another member act at this one.
func (n *Node) apply(r record) error {
	switch r := r.(type) {
	case *value:
		err := n.known.Put(n.ctx, 0, r.key, r.value)
		if errors.Is(err, rendezvous.ErrExists) {
			// Two hosts published at the same time. All members find out, since
			// all records reach all. Of a notice each keeps the first, see Backend.
			if !strings.HasPrefix(r.key, "\x00") {
				n.known.Dispute(r.key)
			}
			return nil
		}
		return err
	case *arrivals:
		for _, a := range r.came {
			var err error
			if r.name == openName {
				err = n.known.Opened(0, a.rank)
			} else {
				_, err = n.known.Arrive(0, a.rank, r.name, a.value)
			}
			if err != nil {
				return err
			}
		}
		return nil
	case *event:
		var ev rendezvous.Event
		if err := ev.UnmarshalBinary(r.form); err != nil {
			return err
		}
		return n.happened(ev)
	case *leaving:
		if r.node < len(n.conf.Roster) && r.node != n.self {
			n.become(r.node, left, rendezvous.Left, func(*member) {})
		}
		return nil
	case *unheard:
		if r.to == n.self && r.from > n.self && r.from < len(n.conf.Roster) {
			n.warn(r.from, r.why)
		}
		return nil
	}
	return fmt.Errorf("unknown record %T", r)
}

// repair sends everything to members whose records differ from ours.
func (n *Node) repair() {
	for {
		select {
		case <-n.ctx.Done():
			return
		case node := <-n.broken:
			to, _ := n.address(node)
			for cursor := 0; to != nil; {
				records, next, _ := n.ledger.after(cursor, node)
				if len(records) == 0 {
					break
				}
				if err := n.send(to, node, records); err != nil {
					n.log.Debug("repair failed", "host", n.conf.Roster[node].Name, "error", err)
					break
				}
				cursor = next
			}
		}
	}
}
