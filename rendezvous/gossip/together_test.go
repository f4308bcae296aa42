package gossip_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
)

// A host's values go together, even if they are more than fits in one record.
func TestHostsExchangeTheValuesOfTheirRanks(t *testing.T) {
	hosts := roster(3, 2)
	c := start(t, hosts, nil)
	c.meet(t)
	value := func(rank int) []byte { return bytes.Repeat([]byte{byte('a' + rank)}, 600<<10) }
	var all errgroup.Group
	for node, h := range hosts {
		all.Go(func() error {
			got, err := c.nodes[node].ExchangeTogether(t.Context(), 0, h.Ranks, "fence", [][]byte{value(h.Ranks[0]), value(h.Ranks[1])})
			if err != nil {
				return err
			}
			for rank, v := range got {
				if !bytes.Equal(v, value(rank)) {
					return fmt.Errorf("%s: rank %d has %d bytes that are not its own", h.Name, rank, len(v))
				}
			}
			return nil
		})
	}
	require.NoError(t, all.Wait())

	_, err := c.nodes[0].ExchangeTogether(t.Context(), 0, []int{0, 2}, "other", [][]byte{nil, nil})
	require.EqualError(t, err, "gossip: rank 2 is not on h0")
	_, err = c.nodes[0].ExchangeTogether(t.Context(), 0, []int{0, 1}, "other", nil)
	require.EqualError(t, err, "gossip: 2 ranks exchange 0 values")
}
