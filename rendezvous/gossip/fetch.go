package gossip

import (
	"context"
	"fmt"
	"time"
)

// What a rank offers stays at the member of its host, until a rank of another
// asks for it there: that one's member sends wanted, personally, and the owner
// answers with offered as soon as there is something. Neither is confirmed;
// the request is repeated until the answer is there, each time by another way:
// the better one of the direct one and the Relay, the other one, and at last
// along the tree, which needs no way between the two. What came is kept, so that
// a host asks once for all of its ranks.

// The first repetition of a request, and the longest pause between two. An owner
// that has nothing to offer yet remembers who asked, so they can be rare.
const (
	firstAsk = 500 * time.Millisecond
	lastAsk  = 8 * time.Second
)

// ask is what is asked for: a value of a rank.
type ask struct {
	epoch, rank int
	key         string
}

// fetch is a request under way, and how many of this host's ranks wait for it.
type fetch struct {
	waiting int
	end     context.CancelFunc
}

// Offer implements [rendezvous.Backend] for ranks of this host. It does not
// block.
func (n *Node) Offer(ctx context.Context, epoch, rank int, key string, v []byte) error {
	if err := n.check(epoch, rank); err != nil {
		return err
	}
	if err := n.known.Offer(ctx, epoch, rank, key, v); err != nil || n.list == nil {
		return err
	}
	n.mu.Lock()
	a := ask{epoch, rank, key}
	askers := n.askers[a]
	delete(n.askers, a)
	n.mu.Unlock()
	for _, q := range askers {
		n.answer(q, a, v)
	}
	return nil
}

// Fetch implements [rendezvous.Backend].
func (n *Node) Fetch(ctx context.Context, epoch, rank int, key string) ([]byte, error) {
	ctx, release := n.bind(ctx)
	defer release()
	if n.list != nil {
		defer n.request(ask{epoch, rank, key})()
	}
	v, err := n.known.Fetch(ctx, epoch, rank, key)
	if err != nil {
		return nil, n.closed(err)
	}
	return v, nil
}

// request asks the owner, unless this host does so already, until all who wait
// have called done.
func (n *Node) request(a ask) (done func()) {
	if _, here := n.known.Offered(a.epoch, a.rank, a.key); here {
		return func() {}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	owner := n.owner(a)
	if owner < 0 || owner == n.self || n.leaving {
		return func() {}
	}
	f := n.fetches[a]
	if f == nil {
		ctx, end := context.WithCancel(n.ctx)
		f = &fetch{end: end}
		n.fetches[a] = f
		n.workers.Go(func() { n.keepAsking(ctx, owner, a) })
	}
	f.waiting++
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		if f.waiting--; f.waiting == 0 {
			f.end()
			delete(n.fetches, a)
		}
	}
}

// owner returns the node of a rank, or -1. n.mu is held.
func (n *Node) owner(a ask) int {
	if a.epoch != n.epoch {
		return -1
	}
	for node, host := range n.roster {
		for _, rank := range host.Ranks {
			if rank == a.rank {
				return node
			}
		}
	}
	return -1
}

func (n *Node) keepAsking(ctx context.Context, owner int, a ask) {
	r := &wanted{node: n.self, rank: a.rank, key: a.key}
	b, err := write(a.epoch, r)
	if err != nil {
		n.log.Error("request cannot be told", "error", err)
		return
	}
	pause := firstAsk
	for attempt := 0; ; attempt++ {
		if attempt == 2 {
			n.publish(a.epoch, r)
		} else if err := n.post(ctx, owner, b, attempt%2 == 1); err != nil {
			n.log.Debug("request failed", "host", n.conf.Roster[owner].Name, "error", err)
		}
		if !await(ctx, nil, time.After(pause)) {
			return
		}
		pause = min(2*pause, lastAsk)
	}
}

// post sends a personal record by one of the two ways, and if that does not work
// by the other.
func (n *Node) post(ctx context.Context, to int, record []byte, other bool) error {
	addr, _ := n.address(to)
	n.mu.Lock()
	direct := addr != nil && n.heard[to] != other
	n.mu.Unlock()
	if direct || n.conf.Relay == nil && addr != nil {
		err := n.send(addr, to, true, record)
		if err == nil || n.conf.Relay == nil || ctx.Err() != nil {
			return err
		}
	}
	if n.conf.Relay == nil {
		return fmt.Errorf("gossip: nobody has said yet where %s is", n.conf.Roster[to].Name)
	}
	b, err := n.envelope(to, true, record)
	if err != nil {
		return err
	}
	return n.conf.Relay.Send(ctx, to, b)
}

// asker is a member that asked, and how its request came.
type asker struct {
	node             int
	personal, direct bool
}

// want takes a request of another member.
func (n *Node) want(a ask, q asker) {
	n.mu.Lock()
	if n.owner(a) != n.self || q.node >= len(n.roster) || q.node == n.self {
		n.mu.Unlock()
		return
	}
	v, ok := n.known.Offered(a.epoch, a.rank, a.key)
	if !ok {
		if n.askers[a] == nil {
			n.askers[a] = map[int]asker{}
		}
		// A request comes along the tree once, and from a member that no direct
		// answer has reached: those that it sends after it take nothing back.
		if before, ok := n.askers[a][q.node]; !ok || before.personal {
			n.askers[a][q.node] = q
		}
	}
	n.mu.Unlock()
	if ok {
		n.answer(q, a, v)
	}
}

// answer sends what was asked for by the way that the request came.
func (n *Node) answer(q asker, a ask, v []byte) {
	r := &offered{a.rank, a.key, v}
	if !q.personal {
		n.publish(a.epoch, r)
		return
	}
	b, err := write(a.epoch, r)
	if err != nil {
		n.log.Error("answer cannot be told", "error", err)
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.leaving {
		return
	}
	other := n.heard[q.node] != q.direct
	n.workers.Go(func() {
		if err := n.post(n.ctx, q.node, b, other); err != nil {
			n.log.Debug("answer failed", "host", n.conf.Roster[q.node].Name, "error", err)
		}
	})
}
