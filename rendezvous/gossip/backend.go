package gossip

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/gorun/gorun/rendezvous"
)

// bind returns a context that ends with ctx and with the Node.
func (n *Node) bind(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(n.ctx, cancel)
	return ctx, func() { stop(); cancel() }
}

// closed returns ErrClosed instead of err once the Node is closed.
func (n *Node) closed(err error) error {
	if n.ctx.Err() != nil {
		return rendezvous.ErrClosed
	}
	return err
}

// check refuses ranks of other hosts, which have an agent of their own.
func (n *Node) check(epoch, rank int) error {
	n.mu.Lock()
	present, own := n.epoch, slices.Contains(n.roster[n.self].Ranks, rank)
	n.mu.Unlock()
	switch {
	case epoch != present:
		return fmt.Errorf("%w: %d, it is %d", rendezvous.ErrStale, epoch, present)
	case !own:
		return fmt.Errorf("gossip: rank %d is not on %s", rank, n.conf.Roster[n.self].Name)
	}
	return n.closed(nil)
}

// own returns the ranks of this host in an epoch, if it is the present one.
func (n *Node) own(epoch int) []int {
	n.mu.Lock()
	defer n.mu.Unlock()
	if epoch != n.epoch {
		return nil
	}
	return n.roster[n.self].Ranks
}

// Open implements [rendezvous.Backend] for ranks of this host. It does not
// block.
func (n *Node) Open(ctx context.Context, epoch, rank int) ([]int, error) {
	if err := n.check(epoch, rank); err != nil {
		return nil, err
	}
	news, err := n.known.Opened(epoch, rank)
	if err != nil {
		return nil, err
	}
	ring, err := n.known.Open(ctx, epoch, rank)
	if err != nil {
		return nil, err
	}
	if news && n.list != nil {
		n.gather(epoch, openName, arrival{rank: rank})
	}
	return ring, nil
}

// Put implements [rendezvous.Backend]. It does not block: the other members
// learn the value in the background.
func (n *Node) Put(ctx context.Context, epoch int, key string, v []byte) error {
	if err := n.closed(nil); err != nil {
		return err
	}
	if err := n.known.Put(ctx, epoch, key, v); err != nil || n.list == nil {
		return err
	}
	return n.publish(epoch, &value{key, v})
}

// Get implements [rendezvous.Backend].
func (n *Node) Get(ctx context.Context, epoch int, key string) ([]byte, error) {
	ctx, release := n.bind(ctx)
	defer release()
	v, err := n.known.Get(ctx, epoch, key)
	if err != nil {
		return nil, n.closed(err)
	}
	return v, nil
}

// Exchange implements [rendezvous.Backend] for ranks of this host.
func (n *Node) Exchange(ctx context.Context, epoch, rank int, name string, v []byte) ([][]byte, error) {
	if err := n.come(epoch, rank, name, v); err != nil {
		return nil, err
	}
	ctx, release := n.bind(ctx)
	defer release()
	values, err := n.known.Await(ctx, epoch, rank, name)
	if err != nil {
		return nil, n.closed(err)
	}
	return values, nil
}

// Barrier implements [rendezvous.Backend] for ranks of this host.
func (n *Node) Barrier(ctx context.Context, epoch, rank int, name string) error {
	if err := n.come(epoch, rank, name, nil); err != nil {
		return err
	}
	ctx, release := n.bind(ctx)
	defer release()
	if err := n.known.AwaitBarrier(ctx, epoch, rank, name); err != nil {
		return n.closed(err)
	}
	return nil
}

// come brings the arrival of a rank of this host.
func (n *Node) come(epoch, rank int, name string, v []byte) error {
	if err := n.check(epoch, rank); err != nil {
		return err
	}
	news, err := n.known.Arrive(epoch, rank, name, v)
	if err != nil {
		return err
	}
	if news && n.list != nil {
		n.gather(epoch, name, arrival{rank, v})
	}
	return nil
}

// Lost implements [rendezvous.Backend].
func (n *Node) Lost(ctx context.Context, epoch int) ([]int, error) {
	ctx, release := n.bind(ctx)
	defer release()
	ranks, err := n.known.Lost(ctx, epoch)
	if err != nil {
		return nil, n.closed(err)
	}
	return ranks, nil
}

// Events implements [rendezvous.Backend].
func (n *Node) Events(ctx context.Context, epoch int) iter.Seq2[rendezvous.Event, error] {
	return func(yield func(rendezvous.Event, error) bool) {
		ctx, release := n.bind(ctx)
		defer release()
		for ev, err := range n.known.Events(ctx, epoch) {
			if err != nil {
				err = n.closed(err)
			}
			if !yield(ev, err) {
				return
			}
		}
	}
}
