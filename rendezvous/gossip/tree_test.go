package gossip_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gorun/gorun/rendezvous/gossip"
)

// Whatever hosts are lost, the living ones are one tree, of which every edge is
// known at both ends.
func TestTree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 200).Draw(t, "nodes")
		dead := rapid.SliceOfN(rapid.Bool(), n, n).Draw(t, "dead")
		gone := func(i int) bool { return dead[i] }
		edges, living, roots := 0, 0, 0
		for i := range n {
			if gone(i) {
				continue
			}
			living++
			for _, j := range gossip.Neighbours(i, n, gone) {
				require.False(t, gone(j))
				require.Contains(t, gossip.Neighbours(j, n, gone), i)
				edges++
			}
			if p := gossip.Parent(i, gone); p < 0 {
				roots++
			} else {
				require.Less(t, p, i, "so there are no cycles")
			}
		}
		if living > 0 {
			require.Equal(t, 1, roots)
			require.Equal(t, 2*(living-1), edges)
		}
	})
}

func TestTreeWithoutLosses(t *testing.T) {
	none := func(int) bool { return false }
	require.Equal(t, []int{1, 2, 3, 4, 5, 6, 7, 8}, gossip.Neighbours(0, 73, none))
	require.Equal(t, []int{0, 9, 10, 11, 12, 13, 14, 15, 16}, gossip.Neighbours(1, 73, none))
	require.Equal(t, []int{8}, gossip.Neighbours(72, 73, none))
}
