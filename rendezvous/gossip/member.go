package gossip

import (
	"context"
	"errors"
	"net/netip"
	"slices"

	"github.com/hashicorp/memberlist"

	"github.com/gorun/gorun/rendezvous"
)

// Member is what memberlist knows of a host.
type Member struct {
	Node    int
	Host    string
	Addr    netip.AddrPort // where it is reached; not valid: nobody said
	Suspect bool           // it does not answer
}

// member is the state of one. Memberlist's own nodes change under their
// readers, so the delegate copies what is needed.
type member struct {
	addr  netip.AddrPort
	state state
}

type state uint8

const (
	unseen  state = iota // has not joined yet
	present              // answers
	suspect              // does not
	left                 // said that it leaves
)

// Members returns the members that have joined and not left, by node.
func (n *Node) Members() []Member {
	if n.list == nil {
		return []Member{{Node: n.self, Host: n.conf.Roster[n.self].Name}}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	var all []Member
	for node, m := range n.members {
		if m.state == present || m.state == suspect {
			all = append(all, Member{node, n.conf.Roster[node].Name, m.addr, m.state == suspect})
		}
	}
	return all
}

// Whole blocks until every host of the roster has joined. Hosts that are
// suspected since count. If ctx ends first, the error is a
// *rendezvous.MissingError. It need not be called: values do not wait
// for the roster.
func (n *Node) Whole(ctx context.Context) error {
	if n.list == nil {
		return n.closed(nil)
	}
	for {
		n.mu.Lock()
		missing := n.missing(present, suspect)
		changed := n.changed
		n.mu.Unlock()
		if missing == nil {
			return n.closed(nil)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			missing.Err = ctx.Err()
			return missing
		case <-n.ctx.Done():
			return rendezvous.ErrClosed
		}
	}
}

// missing returns who is in none of the states, or nil. n.mu is held.
func (n *Node) missing(states ...state) *rendezvous.MissingError {
	var missing *rendezvous.MissingError
	for node, m := range n.members {
		if slices.Contains(states, m.state) {
			continue
		}
		if missing == nil {
			missing = &rendezvous.MissingError{What: "roster"}
		}
		missing.Hosts = append(missing.Hosts, n.conf.Roster[node].Name)
		missing.Ranks = append(missing.Ranks, n.roster[node].Ranks...)
	}
	return missing
}

// update changes a member and wakes who waits for that. n.mu is held.
func (n *Node) update(node int, change func(*member)) {
	change(&n.members[node])
	close(n.changed)
	n.changed = make(chan struct{})
}

// address returns where a node is reached, as memberlist wants it, or nil and
// what is closed when that may have changed.
func (n *Node) address(node int) (*memberlist.Node, <-chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	addr := n.members[node].addr
	if !addr.IsValid() {
		return nil, n.changed
	}
	return &memberlist.Node{Name: n.names[node], Addr: addr.Addr().AsSlice(), Port: addr.Port()}, n.changed
}

// become changes the state of a member, and what else change does, and tells
// this host's ranks, of whom each host's member tells its own. Who has left stays
// so: names are not used twice.
func (n *Node) become(node int, now state, kind rendezvous.Kind, change func(*member)) {
	n.mu.Lock()
	if n.members[node].state == left {
		n.mu.Unlock()
		return
	}
	n.update(node, func(m *member) {
		m.state = now
		change(m)
	})
	epoch, ranks := n.epoch, n.roster[node].Ranks
	n.mu.Unlock()
	if kind == "" || node == n.self {
		return
	}
	ev := rendezvous.Event{Kind: kind, Host: n.conf.Roster[node].Name, Ranks: ranks, Epoch: epoch}
	if kind == rendezvous.Suspected {
		ev.Cause = "does not answer gossip"
	}
	if err := n.known.Report(ev); err != nil && !errors.Is(err, rendezvous.ErrStale) {
		n.log.Warn("event", "error", err)
	}
}
