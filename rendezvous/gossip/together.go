package gossip

import (
	"context"
	"fmt"
)

// ExchangeTogether is Exchange of several ranks of this host in one call, which
// brings a value of each and returns the values of all ranks of the job once.
// It is for services that act for all ranks of their host.
func (n *Node) ExchangeTogether(ctx context.Context, epoch int, ranks []int, name string, values [][]byte) ([][]byte, error) {
	if len(ranks) == 0 || len(values) != len(ranks) {
		return nil, fmt.Errorf("gossip: %d ranks exchange %d values", len(ranks), len(values))
	}
	for i, rank := range ranks {
		if err := n.come(epoch, rank, name, values[i]); err != nil {
			return nil, err
		}
	}
	ctx, release := n.bind(ctx)
	defer release()
	all, err := n.known.Await(ctx, epoch, ranks[0], name)
	if err != nil {
		return nil, n.closed(err)
	}
	return all, nil
}
