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
		return n.happened(ev)
	}
	if ev.Time.IsZero() {
		ev.Time = time.Now()
	}
	form, err := ev.AppendBinary(nil)
	if err != nil {
		return fmt.Errorf("gossip: event cannot be passed on: %w", err)
	}
	r := &event{form}
	b, err := write(ev.Epoch, r)
	if err != nil {
		return fmt.Errorf("gossip: %w", err)
	}
	e := entryOf(ev.Epoch, r, b, n.self)
	if !n.ledger.claim(e) {
		return nil
	}
	if err := n.happened(ev); err != nil && !errors.Is(err, rendezvous.ErrStale) {
		return err
	}
	n.enter(e)
	return nil
}

// happened lets an event act at this member.
func (n *Node) happened(ev rendezvous.Event) error {
	if ev.Kind == rendezvous.NewEpoch {
		return n.advance(ev)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.known.Report(ev); err != nil || ev.Kind != rendezvous.Lost || n.list == nil {
		return err
	}
	for _, rank := range ev.Ranks {
		n.lost[rank] = true
	}
	n.rewire()
	return nil
}

// publish enters a record of this member.
func (n *Node) publish(epoch int, r record) error {
	b, err := write(epoch, r)
	if err != nil {
		return fmt.Errorf("gossip: %w", err)
	}
	if e := entryOf(epoch, r, b, n.self); n.ledger.claim(e) {
		n.enter(e)
	}
	return nil
}

// enter makes a record known that is no arrival.
func (n *Node) enter(e entry) {
	n.ledger.know(e.epoch, digestOf(e.record))
	n.ledger.enter(e)
}

// envelope returns the message with records for a node: those that all are to
// know, or personal ones.
func (n *Node) envelope(to int, personal bool, records ...[]byte) ([]byte, error) {
	n.mu.Lock()
	heard := n.heard[to]
	n.mu.Unlock()
	c := codec.Writer(nil)
	(&message{from: n.self, heard: heard, personal: personal, records: records}).fields(c)
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
		if err := n.take(m.from, b, m.personal, direct); err != nil {
			errs = append(errs, fmt.Errorf("gossip: record of node %d: %w", m.from, err))
		}
	}
	return errors.Join(errs...)
}

// take lets a record act, once, and passes it on unless it is personal.
func (n *Node) take(from int, b []byte, personal, direct bool) error {
	epoch, r, err := read(b)
	if err != nil {
		return err
	}
	e := entryOf(epoch, r, b, from)
	if !personal && !n.ledger.claim(e) {
		return nil
	}
	e.record = bytes.Clone(b) // it is a part of the message
	if n.early(epoch, e, personal, direct) {
		return nil
	}
	err = n.act(epoch, r, e, personal, direct)
	if errors.Is(err, rendezvous.ErrStale) {
		return nil // what an epoch leaves does not matter to the next
	}
	return err
}

// act lets a record of the present epoch act.
func (n *Node) act(epoch int, r record, e entry, personal, direct bool) error {
	var news []int
	var err error
	switch r := r.(type) {
	case *wanted:
		n.want(ask{epoch, r.rank, r.key}, asker{r.node, personal, direct})
	case *arrivals:
		if news, err = n.arrive(epoch, r.name, r.came...); err == nil {
			n.forward(r.name, r, e, news)
		}
		return err
	case *hosts:
		came, err := n.ranksOf(epoch, r.nodes)
		if err != nil {
			return err
		}
		if news, err = n.arrive(epoch, r.name, came...); err == nil {
			n.forward(r.name, r, e, news)
		}
		return err
	default:
		err = n.apply(epoch, r)
		if err != nil && !(errors.Is(err, rendezvous.ErrStale) && e.epoch == lasting) {
			return err
		}
	}
	if !personal {
		n.enter(e)
	}
	return nil
}

// entryOf returns the entry of a record. Events last: who has not heard of an
// epoch's end must.
func entryOf(epoch int, r record, b []byte, from int) entry {
	switch r.(type) {
	case *event, *leaving, *unheard:
		epoch = lasting
	}
	return entry{epoch: epoch, record: b, from: from}
}

// ranksOf returns the ranks of nodes, as arrivals that bring nothing.
func (n *Node) ranksOf(epoch int, nodes []span) (came []arrival, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, s := range nodes {
		if s.last >= len(n.roster) {
			return nil, fmt.Errorf("nodes are %d to %d, want some of 0 to %d", s.first, s.last, len(n.roster)-1)
		}
		if epoch != n.epoch {
			continue
		}
		for _, host := range n.roster[s.first : s.last+1] {
			for _, rank := range host.Ranks {
				came = append(came, arrival{rank: rank})
			}
		}
	}
	return came, nil
}

// apply lets a record of another member act at this one.
func (n *Node) apply(epoch int, r record) error {
	switch r := r.(type) {
	case *value:
		err := n.known.Put(n.ctx, epoch, r.key, r.value)
		if errors.Is(err, rendezvous.ErrExists) {
			// Two hosts published at the same time. All members find out, since
			// all records reach all. Of a notice each keeps the first, see Backend.
			if !strings.HasPrefix(r.key, "\x00") {
				n.known.Dispute(epoch, r.key)
			}
			return nil
		}
		return err
	case *offered:
		return n.known.Offer(n.ctx, epoch, r.rank, r.key, r.value)
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
	case *unheard:
		if r.to == n.self && r.from > n.self && r.from < len(n.conf.Roster) {
			n.warn(r.from, r.why)
		}
	}
	return nil
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
				records, next, _ := n.ledger.after(cursor, node, true)
				if len(records) == 0 {
					break
				}
				if err := n.send(to, node, false, records...); err != nil {
					n.log.Debug("repair failed", "host", n.conf.Roster[node].Name, "error", err)
					break
				}
				cursor = next
			}
		}
	}
}
