package gossip

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"time"
)

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
