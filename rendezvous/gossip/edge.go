package gossip

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/memberlist"
)

// How records get to a neighbour. An edge has two goroutines, one for each way,
// which both follow the ledger: take what is new, send it, and after an error
// send it again, at growing intervals. They end when the neighbour is lost or
// the node closes; in that case they first send what there is, if that works and
// as long as Close lets them. The direct one waits for an address first.

const (
	// reserve is how long the Relay leaves a record to a direct way that works.
	// Direct sends take a few milliseconds; fifty are a dropped packet.
	reserve = 50 * time.Millisecond

	firstRetry = 100 * time.Millisecond
	lastRetry  = 10 * time.Second

	// unheardAfter is how long the direct way must have failed to be worth a
	// warning. A host whose agent has died is reported lost before that.
	unheardAfter = 2 * time.Second
)

// edge is the way to a neighbour in the tree.
type edge struct {
	to  int
	up  bool // it leads to the parent
	end context.CancelFunc

	mu    sync.Mutex
	sent  int  // the entries before this one went out directly
	works bool // the neighbour hears this member directly, and the last send did not fail
	moved chan struct{}
}

// set changes what the Relay's goroutine goes by, and wakes it.
func (e *edge) set(change func()) {
	e.mu.Lock()
	change()
	e.mu.Unlock()
	select {
	case e.moved <- struct{}{}:
	default:
	}
}

// rewire makes the edges those of the tree. n.mu is held.
func (n *Node) rewire() {
	wanted := map[int]bool{}
	if n.leaving {
		return
	}
	n.look()
	if !n.gone(n.self) {
		for _, to := range neighbours(n.self, len(n.conf.Roster), n.gone) {
			wanted[to] = true
		}
	}
	for to, e := range n.edges {
		if !wanted[to] {
			e.end()
			delete(n.edges, to)
		}
	}
	for to := range wanted {
		if n.edges[to] != nil && n.edges[to].up == (to == n.parent) {
			continue
		}
		if n.edges[to] != nil {
			n.edges[to].end()
		}
		ctx, end := context.WithCancel(n.ctx)
		e := &edge{to: to, up: to == n.parent, end: end, moved: make(chan struct{}, 1)}
		n.edges[to] = e
		n.couriers.Go(func() { n.direct(ctx, e) })
		if n.conf.Relay != nil {
			n.couriers.Go(func() { n.relay(ctx, e) })
		}
	}
}

// gone tells whether all ranks of a node are lost. n.mu is held.
func (n *Node) gone(node int) bool {
	for _, rank := range n.roster[node].Ranks {
		if !n.lost[rank] {
			return false
		}
	}
	return true
}

// direct sends records to the neighbour by memberlist.
func (n *Node) direct(ctx context.Context, e *edge) {
	retry := firstRetry
	var failing time.Time // since when; zero: it is not
	for cursor := 0; ; {
		records, next, grown := n.ledger.after(cursor, e.to, e.up)
		if len(records) == 0 {
			cursor = next
			e.set(func() { e.sent = next })
			if !await(ctx, n.drain, grown) {
				return
			}
			continue
		}
		to, changed := n.address(e.to)
		if to == nil {
			if !await(ctx, n.drain, changed) {
				return
			}
			continue
		}
		began := time.Now()
		if err := n.send(to, e.to, false, records...); err != nil {
			e.set(func() { e.works = false })
			if ctx.Err() != nil {
				return
			}
			if failing.IsZero() {
				failing = began
			}
			if time.Since(failing) >= unheardAfter {
				n.unheard(e.to, err)
			}
			if !await(ctx, n.drain, time.After(retry)) {
				return
			}
			retry = min(2*retry, lastRetry)
			continue
		}
		retry, failing = firstRetry, time.Time{}
		cursor = next
		e.set(func() { e.sent = next })
	}
}

// relay sends records to the neighbour through the launcher, if the direct way
// has not.
func (n *Node) relay(ctx context.Context, e *edge) {
	retry := firstRetry
	left := 0 // the entries before this one have had their time to go directly
	for cursor := 0; ; {
		records, next, grown := n.ledger.after(cursor, e.to, e.up)
		if len(records) == 0 {
			cursor = next
			if !await(ctx, n.drain, grown) {
				return
			}
			continue
		}
		e.mu.Lock()
		sent, works := e.sent, e.works
		e.mu.Unlock()
		if works && sent > cursor {
			cursor = sent
			continue
		}
		if works && left <= cursor {
			timer := time.NewTimer(reserve)
			select {
			case <-e.moved:
			case <-timer.C:
				left = next
			case <-ctx.Done():
				timer.Stop()
				return
			}
			timer.Stop()
			continue
		}
		b, err := n.envelope(e.to, false, records...)
		if err == nil {
			err = n.conf.Relay.Send(ctx, e.to, b)
		}
		if err != nil {
			if ctx.Err() != nil {
				return
			}
			n.log.Info("relay failed, will be repeated", "host", n.conf.Roster[e.to].Name, "error", err)
			if !await(ctx, n.drain, time.After(retry)) {
				return
			}
			retry = min(2*retry, lastRetry)
			continue
		}
		retry = firstRetry
		cursor = next
	}
}

// await blocks until c is closed, or time comes from it. It is false when there
// is no more to wait for: ctx has ended, or drain is closed.
func await[T any](ctx context.Context, drain <-chan struct{}, c <-chan T) bool {
	select {
	case <-c:
		return true
	default:
	}
	select {
	case <-c:
	case <-drain:
		return false
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// send sends records directly.
func (n *Node) send(to *memberlist.Node, node int, personal bool, records ...[]byte) error {
	b, err := n.envelope(node, personal, records...)
	if err != nil {
		return err
	}
	return n.list.SendReliable(to, b)
}

// unheard notes that gossip does not get through to a node. Exactly one member
// warns of a pair, the lower: if this is the higher one it tells the lower, as a
// record, so that a way that is blocked in one direction is noticed too.
func (n *Node) unheard(to int, err error) {
	n.mu.Lock()
	quiet := n.leaving || n.members[to].state == left || n.warned[to]
	tell := n.self > to && n.conf.Relay != nil
	if tell {
		n.warned[to] = true
	}
	n.mu.Unlock()
	if quiet {
		return
	}
	why := err.Error()
	why = why[:min(len(why), maxWhy)]
	if !tell {
		n.warn(to, why)
		return
	}
	n.publish(0, &unheard{n.self, to, why})
}

// warn warns of the pair of this node and another, once.
func (n *Node) warn(other int, why string) {
	n.mu.Lock()
	again := n.warned[other]
	n.warned[other] = true
	n.mu.Unlock()
	if again {
		return
	}
	rest := "their values go through the launcher"
	if n.conf.Relay == nil {
		rest = "their values go through other hosts"
	}
	n.log.Warn(fmt.Sprintf("no gossip between %s and %s, %s", n.conf.Roster[n.self].Name, n.conf.Roster[other].Name, rest), "error", why)
}
