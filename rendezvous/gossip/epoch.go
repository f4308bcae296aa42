package gossip

import (
	"context"
	"errors"

	"github.com/gorun/gorun/rankenv"
	"github.com/gorun/gorun/rendezvous"
)

// backlog is records of the next epoch, which has not begun at this member
// because what it knows of it is still on another way.
type backlog struct {
	records []early
	asked   map[digest]bool // the personal ones, which are repeated; of others the ledger knows
	size    int             // in bytes, see maxBacklog
}

// early is such a record, and how it came.
type early struct {
	entry
	personal, direct bool
}

// maxBacklog bounds what is kept for the next epoch, in bytes of records and
// overhead of each. It is much more than a job says until all have heard of it.
const (
	maxBacklog    = 64 << 20
	earlyOverhead = 128
)

// early tells whether the epoch of a record that came has not begun. It keeps the
// record if the epoch is the next and there is room. If not, the record may come
// again: what all are to know by repair, a request because it is repeated.
func (n *Node) early(epoch int, e entry, personal, direct bool) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if epoch <= n.epoch {
		return false
	}
	w, size := &n.waiting, len(e.record)+earlyOverhead
	if epoch > n.epoch+1 || w.size+size > maxBacklog {
		if !personal {
			n.ledger.disclaim(e)
		}
		return true
	}
	if personal {
		d := digestOf(e.record)
		if w.asked[d] {
			return true
		}
		if w.asked == nil {
			w.asked = map[digest]bool{}
		}
		w.asked[d] = true
	}
	w.records = append(w.records, early{e, personal, direct})
	w.size += size
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
	n.gatherings = map[string]*gathering{}
	n.fetches = map[ask]*fetch{}
	n.askers = map[ask]map[int]asker{}
	n.ledger.begin(epoch)
	n.rewire()
	later := n.waiting.records
	n.waiting = backlog{}
	if len(later) > 0 && !n.leaving {
		n.workers.Go(func() { n.catchUp(later) })
	}
	return nil
}

// catchUp takes records again that came too early.
func (n *Node) catchUp(later []early) {
	for _, e := range later {
		epoch, r, err := read(e.record)
		if err == nil {
			err = n.act(epoch, r, e.entry, e.personal, e.direct)
		}
		if err != nil && !errors.Is(err, rendezvous.ErrStale) {
			n.log.Warn("record refused", "error", err)
		}
	}
}
