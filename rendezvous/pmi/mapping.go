package pmi

import (
	"fmt"
	"slices"
	"strings"
)

// PMI_process_mapping tells which ranks share a host. MPICH uses shared memory
// between those, so a wrong one is worse than none. It is
//
//	(vector,(first,nodes,ranks),…)
//
// where each triple puts so many ranks on each of so many nodes from the first
// on. If ranks are left after the last triple, the list is gone through again.

// maxMapping is the longest mapping that clients take, an ordinary value's
// length. Without one, MPICH lets ranks tell each other their hosts' names.
const maxMapping = maxValue

// block is one triple.
type block struct{ first, nodes, ranks int }

// mapping returns the mapping for ranks on the given nodes, by rank; "" if it
// would be too long.
func mapping(nodes []int) string {
	blocks := blocksOf(nodes)
	for n := 1; n <= len(blocks); n++ {
		text := vector(blocks[:n])
		if len(text) > maxMapping {
			return ""
		}
		if slices.Equal(unfold(blocks[:n], len(nodes)), nodes) {
			return text
		}
	}
	return ""
}

// blocksOf returns the triples that tell of each rank once.
func blocksOf(nodes []int) (blocks []block) {
	for i := 0; i < len(nodes); {
		run := i
		for run < len(nodes) && nodes[run] == nodes[i] {
			run++
		}
		next := block{first: nodes[i], nodes: 1, ranks: run - i}
		if n := len(blocks); n > 0 && blocks[n-1].ranks == next.ranks && blocks[n-1].first+blocks[n-1].nodes == next.first {
			blocks[n-1].nodes++
		} else {
			blocks = append(blocks, next)
		}
		i = run
	}
	return blocks
}

// unfold is what a client makes of the triples: the node of each of size ranks.
func unfold(blocks []block, size int) []int {
	nodes := make([]int, 0, size)
	for len(nodes) < size {
		for _, b := range blocks {
			for node := b.first; node < b.first+b.nodes; node++ {
				for range b.ranks {
					if len(nodes) < size {
						nodes = append(nodes, node)
					}
				}
			}
		}
	}
	return nodes
}

func vector(blocks []block) string {
	var b strings.Builder
	b.WriteString("(vector")
	for _, bl := range blocks {
		fmt.Fprintf(&b, ",(%d,%d,%d)", bl.first, bl.nodes, bl.ranks)
	}
	b.WriteByte(')')
	return b.String()
}
