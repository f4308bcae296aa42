package gossip

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/gorun/gorun/rendezvous"
)

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
	conf.Label = fmt.Sprintf("%s:%d", n.conf.World.Job, n.conf.World.Attempt)
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
