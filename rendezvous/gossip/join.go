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

// joinAtOnce is how many members join without waiting, and joinEvery how much
// later a cluster with one more member begins. What members tell each other
// when all join grows with the square of their number, and in a job that has
// just started it would be in the way of the values that ranks wait for.
// Those need no cluster, only addresses; what begins later are suspicions.
const (
	joinAtOnce = 64
	joinEvery  = 10 * time.Millisecond
)

// How often keepJoined tries. When all join at once, each sees only those who
// were there before, and memberlist's own repair takes minutes to tell it of the
// rest; a second visit to the same seed does it in milliseconds. A host that does
// not come within the first half minute is not worth many visits.
const (
	firstRejoin = 20 * time.Millisecond
	eagerRejoin = time.Second
	eagerFor    = 30 * time.Second
	calmRejoin  = 10 * time.Second
)

// keepJoined visits a seed, and again, while hosts have not joined. It also does
// so, calmly, while hosts are suspected, so that members which could not hear
// each other for long meet again; calmly, because on a machine that is too busy
// to answer in time every visit adds to that.
func (n *Node) keepJoined(seeds []string) {
	if late := time.Duration(len(n.conf.Roster)-joinAtOnce) * joinEvery; late > 0 && !await(n.ctx, nil, time.After(late/2+rand.N(late))) {
		return
	}
	pause, began := firstRejoin, time.Now()
	for {
		n.mu.Lock()
		suspected, unseen := n.missing(present, left), n.missing(present, left, suspect)
		changed := n.changed
		n.mu.Unlock()
		if suspected == nil {
			if !await(n.ctx, nil, changed) {
				return
			}
			continue
		}
		if unseen == nil {
			pause = calmRejoin
		} else {
			n.visit(seeds)
		}
		if !await(n.ctx, nil, time.After(pause/2+rand.N(pause))) {
			return
		}
		if unseen == nil {
			n.visit(seeds)
		}
		longest := eagerRejoin
		if time.Since(began) > eagerFor {
			longest = calmRejoin
		}
		pause = min(2*pause, longest)
	}
}

// visit joins by one seed. It tries the first, which soon knows all, then the
// others from a random one on, so that not all ask the second when the first is
// busy.
func (n *Node) visit(seeds []string) {
	at := rand.N(len(seeds))
	order := append([]string{seeds[0]}, seeds[at:]...)
	for _, seed := range append(order, seeds[:at]...) {
		if n.ctx.Err() != nil {
			return
		}
		_, err := n.list.Join([]string{seed})
		if err == nil {
			return
		}
		n.log.Debug("join", "seed", seed, "error", err)
	}
}
