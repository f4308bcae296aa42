package pmi

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestMappings(t *testing.T) {
	for name, c := range map[string]struct {
		nodes []int
		want  string
	}{
		"one rank":          {[]int{0}, "(vector,(0,1,1))"},
		"one host":          {[]int{0, 0, 0}, "(vector,(0,1,3))"},
		"blocks":            {[]int{0, 0, 1, 1}, "(vector,(0,2,2))"},
		"a host each":       {[]int{0, 1, 2, 3}, "(vector,(0,4,1))"},
		"cyclic":            {[]int{0, 1, 2, 0, 1, 2}, "(vector,(0,3,1))"},
		"cyclic, cut short": {[]int{0, 1, 2, 0, 1}, "(vector,(0,3,1))"},
		"ragged":            {[]int{0, 0, 0, 1, 2, 2}, "(vector,(0,1,3),(1,1,1),(2,1,2))"},
		"backwards":         {[]int{1, 1, 0, 0}, "(vector,(1,1,2),(0,1,2))"},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, mapping(c.nodes)) })
	}
}

func TestMappingTooLongIsNone(t *testing.T) {
	var nodes []int
	for i := range 200 {
		nodes = append(nodes, i, i*i%7)
	}
	require.Empty(t, mapping(nodes))
}

// Whoever reads a mapping as MPICH does finds every rank where it is.
func TestMappingTellsOfEveryRank(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := rapid.SliceOfN(rapid.IntRange(0, 5), 1, 60).Draw(t, "nodes")
		text := mapping(nodes)
		require.NotEmpty(t, text)
		require.LessOrEqual(t, len(text), maxMapping)
		require.Equal(t, nodes, unfold(blocksRead(t, text), len(nodes)))
	})
}

func blocksRead(t *rapid.T, text string) (blocks []block) {
	text, ok := strings.CutPrefix(text, "(vector,(")
	require.True(t, ok)
	text, ok = strings.CutSuffix(text, "))")
	require.True(t, ok)
	for triple := range strings.SplitSeq(text, "),(") {
		n := ints(t, triple)
		require.Len(t, n, 3)
		blocks = append(blocks, block{n[0], n[1], n[2]})
	}
	return blocks
}

func ints(t *rapid.T, list string) (all []int) {
	for word := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(word)
		require.NoError(t, err)
		all = append(all, n)
	}
	return all
}
