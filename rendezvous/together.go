package rendezvous

import (
	"context"
	"fmt"
)

// ExchangeTogether is Exchange of several ranks in one call, which brings a
// value of each and returns the values of all ranks of the job once.
func (m *Memory) ExchangeTogether(ctx context.Context, epoch int, ranks []int, name string, values [][]byte) ([][]byte, error) {
	if len(ranks) == 0 || len(values) != len(ranks) {
		return nil, fmt.Errorf("rendezvous: %d ranks exchange %d values", len(ranks), len(values))
	}
	for i, rank := range ranks {
		if _, err := m.Arrive(epoch, rank, name, values[i]); err != nil {
			return nil, err
		}
	}
	return m.Await(ctx, epoch, ranks[0], name)
}
