package gossip

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"time"

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
		missing.Ranks = append(missing.Ranks, n.conf.Roster[node].Ranks...)
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

// Meet tells where the members are bound, by node: what [Node.Addr] returned
// there. Addresses that are not valid are not known; this member's own does not
// matter. From now on, only those addresses are listened to, and joining begins.
// It does not block.
func (n *Node) Meet(addrs ...netip.AddrPort) error {
	if err := n.closed(nil); err != nil || n.list == nil {
		return err
	}
	if len(addrs) != len(n.conf.Roster) {
		return fmt.Errorf("gossip: %d addresses for a roster of %d hosts", len(addrs), len(n.conf.Roster))
	}
	allowed := map[netip.Addr]bool{}
	var seeds []string
	n.mu.Lock()
	for node, addr := range addrs {
		if !addr.IsValid() || node == n.self {
			continue
		}
		addr = netip.AddrPortFrom(addr.Addr().Unmap(), addr.Port())
		allowed[addr.Addr()] = true
		n.update(node, func(m *member) { m.addr = addr })
		seeds = append(seeds, n.names[node]+"/"+addr.String())
	}
	n.mu.Unlock()
	n.net.Admit(allowed)
	if len(seeds) > 0 {
		n.startJoining(seeds)
	}
	return nil
}

// startJoining starts the goroutine that joins, if none is.
func (n *Node) startJoining(seeds []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.joining || n.leaving {
		return
	}
	n.joining = true
	n.workers.Go(func() { n.keepJoined(seeds) })
}

// How often keepJoined tries. When all join at once, each sees only those who
// were there before, and memberlist's own repair takes minutes to tell it of the
// rest; a second visit to the same seed does it in milliseconds.
const (
	firstRejoin = 20 * time.Millisecond
	lastRejoin  = 5 * time.Second
)

// keepJoined visits a seed, and again, while hosts are not there: not yet, or no
// more, so that members which could not hear each other for long meet again.
func (n *Node) keepJoined(seeds []string) {
	pause := firstRejoin
	for {
		n.mu.Lock()
		missing, changed := n.missing(present, left), n.changed
		n.mu.Unlock()
		if missing == nil {
			if !await(n.ctx, nil, changed) {
				return
			}
			pause = firstRejoin
			continue
		}
		for _, seed := range n.visit(seeds) {
			if n.ctx.Err() != nil {
				return
			}
			if _, err := n.list.Join([]string{seed}); err == nil {
				break
			} else if n.ctx.Err() == nil {
				n.log.Debug("join", "seed", seed, "error", err)
			}
		}
		if !await(n.ctx, nil, time.After(pause/2+rand.N(pause))) {
			return
		}
		pause = min(2*pause, lastRejoin)
	}
}

// visit returns the seeds in the order in which to try them: the first, which
// soon knows all, then those from a random one on, so that not all ask the
// second when the first is busy.
func (n *Node) visit(seeds []string) []string {
	at := rand.N(len(seeds))
	order := append([]string{seeds[0]}, seeds[at:]...)
	return append(order, seeds[:at]...)
}

// The intervals are calm: a training job needs its cores, and values do not
// travel by gossip. A silent host is a Suspected event after the probe's turn,
// its time-out and the suspicion, which together stay below five seconds.
const (
	gossipInterval   = 50 * time.Millisecond
	pushPullInterval = 5 * time.Second
	probeInterval    = time.Second
	probeTimeout     = 700 * time.Millisecond
	suspicionMult    = 2
	streamTimeout    = 3 * time.Second // to dial, and for a whole stream
)

func (n *Node) memberlistConfig() *memberlist.Config {
	conf := memberlist.DefaultLANConfig()
	conf.Name = n.names[n.self]
	conf.Label = n.conf.World.Job
	conf.Transport = n.net
	conf.AdvertiseAddr = n.addr.Addr().String()
	conf.AdvertisePort = int(n.addr.Port())
	conf.SecretKey = n.conf.Key
	conf.RequireNodeNames = len(n.conf.Seeds) == 0
	conf.EnableCompression = false
	conf.GossipInterval = gossipInterval
	conf.PushPullInterval = pushPullInterval
	conf.ProbeInterval = probeInterval
	conf.ProbeTimeout = probeTimeout
	conf.SuspicionMult = suspicionMult
	conf.TCPTimeout = streamTimeout
	conf.Delegate = delegate{n}
	conf.Events = delegate{n}
	conf.Alive = delegate{n}
	conf.Logger = memberlistLog(n.log)
	return conf
}

// delegate is what memberlist calls. It must not block.
type delegate struct{ *Node }

// NodeMeta returns the digest of the plan.
func (d delegate) NodeMeta(int) []byte { return d.plan[:] }

// NotifyAlive refuses members that are not of the roster or have another plan.
func (d delegate) NotifyAlive(peer *memberlist.Node) error {
	if _, ok := d.byName[peer.Name]; !ok {
		return fmt.Errorf("gossip: %s is not of the roster", peer.Name)
	}
	if string(peer.Meta) != string(d.plan[:]) {
		return fmt.Errorf("gossip: %s has another plan", peer.Name)
	}
	return nil
}

// NotifyMsg takes a message that another member's edge or repair sent.
func (d delegate) NotifyMsg(b []byte) {
	if err := d.receive(-1, b, true); err != nil {
		d.log.Warn("message refused", "error", err)
	}
}

// GetBroadcasts has nothing for memberlist to gossip.
func (d delegate) GetBroadcasts(int, int) [][]byte { return nil }

// LocalState returns what members compare: this node and its records' digest.
func (d delegate) LocalState(bool) []byte {
	sum := d.ledger.digest()
	return append([]byte{byte(d.self >> 8), byte(d.self)}, sum[:]...)
}

// MergeRemoteState compares. A member that is just joining has many differences
// that the edges will settle.
func (d delegate) MergeRemoteState(b []byte, join bool) {
	sum := d.ledger.digest()
	if join || len(b) != 2+len(sum) || string(b[2:]) == string(sum[:]) {
		return
	}
	if node := int(b[0])<<8 | int(b[1]); node < len(d.conf.Roster) && node != d.self {
		select {
		case d.broken <- node:
		default: // enough to do
		}
	}
}

// NotifyJoin notes a member that has joined, or answers again.
func (d delegate) NotifyJoin(peer *memberlist.Node) {
	d.seen(peer, present, rendezvous.Joined)
}

// NotifyUpdate notes a member's new address.
func (d delegate) NotifyUpdate(peer *memberlist.Node) {
	d.seen(peer, present, "")
}

// NotifyLeave notes a member that memberlist believes dead, or that has left: it
// does not say which, but who leaves has said so by a record.
func (d delegate) NotifyLeave(peer *memberlist.Node) {
	d.seen(peer, suspect, rendezvous.Suspected)
}

func (d delegate) seen(peer *memberlist.Node, now state, kind rendezvous.Kind) {
	node, ok := d.byName[peer.Name]
	if !ok {
		return
	}
	ip, ok := netip.AddrFromSlice(peer.Addr)
	if !ok {
		return
	}
	addr := netip.AddrPortFrom(ip.Unmap(), peer.Port)
	d.become(node, now, kind, func(m *member) { m.addr = addr })
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
	n.mu.Unlock()
	if kind == "" || node == n.self {
		return
	}
	ev := rendezvous.Event{Kind: kind, Host: n.conf.Roster[node].Name, Ranks: n.conf.Roster[node].Ranks}
	if kind == rendezvous.Suspected {
		ev.Cause = "does not answer gossip"
	}
	if err := n.known.Report(ev); err != nil {
		n.log.Warn("event", "error", err)
	}
}

// network is memberlist's Transport and what a Node needs besides.
type network interface {
	memberlist.Transport
	// Bound returns the local address.
	Bound() netip.AddrPort
	// Admit sets from which addresses packets and streams are taken, nil: from
	// all. Until its first call they wait.
	Admit(map[netip.Addr]bool)
	// HangUp ends dialing and what was dialed, for good.
	HangUp()
}
