package gossip

import (
	"context"
	"errors"

	"github.com/gorun/gorun/rankenv"
	"github.com/gorun/gorun/rendezvous"
)

// early is a record of an epoch that has not begun at this member, because what
// it knows of it is still on another way.
type early struct {
	epoch            int
	from             int
	record           []byte
	personal, direct bool
}

// early keeps a record until its epoch begins, and tells whether it has to.
func (n *Node) early(epoch, from int, b []byte, personal, direct bool) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if epoch <= n.epoch {
		return false
	}
	n.waiting = append(n.waiting, early{epoch, from, b, personal, direct})
	return true
}

// NextEpoch implements [rendezvous.Backend] for ranks of this host. Who goes on
// is said by a NewEpoch event, see [Node.Report]; without a launcher nobody says
// so but the program.
func (n *Node) NextEpoch(ctx context.Context, after, rank int) (rankenv.World, []int, error) {
	// If it has begun already there is nothing to ask for.
	if news, err := n.known.Ask(after, rank); err == nil && news && n.list != nil {
		n.gather(after, nextName, arrival{rank: rank})
	}
	ctx, release := n.bind(ctx)
	defer release()
	w, departed, err := n.known.AwaitEpoch(ctx, after, rank)
	if err != nil {
		return w, nil, n.closed(err)
	}
	return w, departed, nil
}

// advance begins the epoch of a NewEpoch event. What the ranks of this host do in
// it waits for n.mu, and so does what others have told of it.
func (n *Node) advance(ev rendezvous.Event) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.known.Report(ev); err != nil {
		return err
	}
	epoch, roster := n.known.Epoch()
	if epoch == n.epoch {
		return nil
	}
	if n.list == nil {
		n.epoch, n.roster = epoch, roster
		return nil
	}
	for _, g := range n.gatherings {
		n.stopTimer(g)
	}
	for _, f := range n.fetches {
		f.end()
	}
	n.epoch, n.roster = epoch, roster
	n.lost = map[int]bool{}
	n.opened = map[int]bool{}
	n.gatherings = map[string]*gathering{}
	n.fetches = map[ask]*fetch{}
	n.askers = map[ask]map[int]asker{}
	n.ledger.begin(epoch)
	n.rewire()
	later := n.waiting
	n.waiting = nil
	if len(later) > 0 && !n.leaving {
		n.workers.Go(func() { n.catchUp(later) })
	}
	return nil
}

// catchUp takes records again that came too early.
func (n *Node) catchUp(later []early) {
	for _, e := range later {
		_, r, err := read(e.record)
		if err == nil && !n.early(e.epoch, e.from, e.record, e.personal, e.direct) {
			err = n.act(e.epoch, r, entryOf(e.epoch, r, e.record, e.from), e.personal, e.direct)
		}
		if err != nil && !errors.Is(err, rendezvous.ErrStale) {
			n.log.Warn("record refused", "error", err)
		}
	}
}
