package launcher

import "slices"

// gap is a way that is missing: one host does not reach another.
type gap struct{ from, to int }

// cover returns the hosts without which no gap is left: again and again that of
// the most gaps, of several that which is reached least, then the last, since
// rank 0 is on the first. None of them is in vain; there may be a smaller set
// where gaps are many and have little in common.
func cover(hosts int, gaps []gap) (out []int) {
	left := slices.Clone(gaps)
	for len(left) > 0 {
		ends, missed := make([]int, hosts), make([]int, hosts)
		for _, g := range left {
			ends[g.from]++
			ends[g.to]++
			missed[g.to]++
		}
		worst := 0
		for h := range hosts {
			if ends[h] > ends[worst] || ends[h] == ends[worst] && missed[h] >= missed[worst] {
				worst = h
			}
		}
		out = append(out, worst)
		left = slices.DeleteFunc(left, func(g gap) bool { return g.from == worst || g.to == worst })
	}
	for _, h := range slices.Clone(out) { // what came first may have become needless
		rest := slices.DeleteFunc(slices.Clone(out), func(o int) bool { return o == h })
		if !slices.ContainsFunc(gaps, func(g gap) bool { return !slices.Contains(rest, g.from) && !slices.Contains(rest, g.to) }) {
			out = rest
		}
	}
	return out
}
