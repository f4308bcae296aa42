package launcher

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestCover(t *testing.T) {
	both := func(a, b int) []gap { return []gap{{a, b}, {b, a}} }
	for name, c := range map[string]struct {
		gaps []gap
		want []int
	}{
		"no gap":                               {nil, nil},
		"the later of a pair":                  {both(1, 2), []int{2}},
		"who is not reached, in one direction": {[]gap{{2, 1}}, []int{1}},
		"who is in all of them":                {slices.Concat(both(0, 3), both(1, 3), both(3, 4)), []int{3}},
		"nobody who is needless in the end": {slices.Concat(both(0, 1), both(0, 2), both(0, 3), both(0, 4),
			both(1, 5), both(1, 6), both(2, 7), both(2, 8), both(3, 9), both(3, 10), both(4, 11), both(4, 12)), []int{1, 2, 3, 4}},
		"one for each pair that has none alike": {slices.Concat(both(0, 1), both(2, 3)), []int{1, 3}},
	} {
		t.Run(name, func(t *testing.T) {
			require.ElementsMatch(t, c.want, cover(13, c.gaps))
		})
	}
}

func TestCoverLeavesNoGapAndSparesWhomItCan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hosts := rapid.IntRange(2, 12).Draw(t, "hosts")
		host := rapid.IntRange(0, hosts-1)
		var gaps []gap
		for range rapid.IntRange(0, 30).Draw(t, "gaps") {
			if g := (gap{host.Draw(t, "from"), host.Draw(t, "to")}); g.from != g.to {
				gaps = append(gaps, g)
			}
		}
		clears := func(out []int) bool {
			return !slices.ContainsFunc(gaps, func(g gap) bool { return !slices.Contains(out, g.from) && !slices.Contains(out, g.to) })
		}
		out := cover(hosts, gaps)
		require.True(t, clears(out), "%v leaves a gap of %v", out, gaps)
		for _, h := range out {
			require.False(t, clears(slices.DeleteFunc(slices.Clone(out), func(o int) bool { return o == h })), "%d of %v is needless", h, out)
		}
		for h := range hosts { // one host is replaced rather than two
			if clears([]int{h}) {
				require.LessOrEqual(t, len(out), 1)
			}
		}
	})
}
