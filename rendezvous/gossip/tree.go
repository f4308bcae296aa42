package gossip

// fanOut is the number of children of a member in the tree. Eight reach 73
// hosts in two hops and 585 in three, and no member sends a record to more than
// nine.
const fanOut = 8

// parent returns the parent of a living node in the tree, or -1 for its root.
// Node i hangs below (i-1)/fanOut, or if that is gone below the nearest ancestor
// that is not. The lowest living node is the root, and takes in those whose
// ancestors are all gone. So a lost host moves its own children only, and every
// member that knows of the same losses knows the same tree.
func parent(i int, gone func(int) bool) int {
	for p := i; p > 0; {
		p = (p - 1) / fanOut
		if !gone(p) {
			return p
		}
	}
	for root := range i {
		if !gone(root) {
			return root
		}
	}
	return -1
}

// neighbours returns parent and children of a living node among n.
func neighbours(self, n int, gone func(int) bool) []int {
	var all []int
	if p := parent(self, gone); p >= 0 {
		all = append(all, p)
	}
	for i := self + 1; i < n; i++ {
		if !gone(i) && parent(i, gone) == self {
			all = append(all, i)
		}
	}
	return all
}
