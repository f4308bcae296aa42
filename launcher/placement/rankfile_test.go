package placement_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/launcher/placement"
)

// only makes cores of a rankfile.
func only(pkg, first, last int) placement.CoreRange {
	return placement.CoreRange{Package: pkg, First: first, Last: last}
}

func rankfile(ranks ...placement.FixedRank) placement.Policy {
	for i := range ranks {
		ranks[i].Where = "ranks:" + string(rune('1'+i)) + ":1"
	}
	return placement.Policy{MapBy: placement.ByRankfile, Rankfile: ranks}
}

func TestRankfile(t *testing.T) {
	hosts := []placement.Host{twoPackages.host("n1.ib.cluster"), twoPackages.host("n2.ib.cluster"), laptop.host("10.0.0.1")}
	plan, err := placement.Place(0, hosts, rankfile(
		placement.FixedRank{Rank: 1, Host: "n1", Cores: []placement.CoreRange{only(1, 0, 1), only(0, 3, -1)}},
		placement.FixedRank{Rank: 0, Host: "n2.ib.cluster", Cores: []placement.CoreRange{only(-1, 4, 4)}},
		placement.FixedRank{Rank: 2, Host: "+n2"},
		placement.FixedRank{Rank: 3, Host: "n1", Cores: []placement.CoreRange{only(0, 0, 0)}},
	))
	require.NoError(t, err)
	require.Equal(t, "n1.ib.cluster 1,3 n2.ib.cluster 0 10.0.0.1 2", seating(plan))
	require.Equal(t, []string{"4,12", "3-5,11-13", "-", "0,8"}, bound(plan))
}

// Cores are counted among those that are allowed: a container with a few of them
// has a core 0.
func TestRankfileCountsAllowedCores(t *testing.T) {
	h := twoPackages.with(func(s *shape) { s.allowed = []int{2, 5, 6} }).host("a")
	plan, err := placement.Place(0, []placement.Host{h}, rankfile(
		placement.FixedRank{Rank: 0, Host: "a", Cores: []placement.CoreRange{only(-1, 0, 0)}},
		placement.FixedRank{Rank: 1, Host: "a", Cores: []placement.CoreRange{only(1, 0, -1)}},
	))
	require.NoError(t, err)
	require.Equal(t, []string{"2", "5-6"}, bound(plan))
}

func TestRankfileRefuses(t *testing.T) {
	hosts := []placement.Host{laptop.host("n1.a"), laptop.host("n1.b"), {Name: "c", Slots: 1}}
	on := func(rank int, host string, cores ...placement.CoreRange) placement.FixedRank {
		return placement.FixedRank{Rank: rank, Host: host, Cores: cores}
	}
	bound := rankfile(on(0, "c"))
	bound.BindTo = placement.ToCore
	for name, test := range map[string]struct {
		size   int
		policy placement.Policy
		want   string
	}{
		"a host that is not there":    {0, rankfile(on(0, "z")), `ranks:1:1: expected one of 3 hosts, n1.a, n1.b, c, found "z"`},
		"an ambiguous short name":     {0, rankfile(on(0, "n1")), `ranks:1:1: expected a host, found "n1", which may be n1.a or n1.b`},
		"a host beyond the list":      {0, rankfile(on(0, "+n3")), `ranks:1:1: expected one of 3 hosts, +n0 to +n2, found "+n3"`},
		"a rank twice":                {0, rankfile(on(0, "c"), on(0, "c")), "ranks:2:1: expected rank 0 once, found it at ranks:1:1 too\nexpected ranks 0 to 1 in the rankfile, found no rank 1"},
		"a gap":                       {0, rankfile(on(0, "c"), on(2, "c")), "expected ranks 0 to 1 in the rankfile, found no rank 1"},
		"fewer ranks than asked for":  {3, rankfile(on(0, "c")), "expected ranks 0 to 2 in the rankfile, found no rank 1"},
		"no ranks":                    {0, rankfile(), "expected a rank in the rankfile, found none"},
		"more ranks than slots":       {0, rankfile(on(0, "c"), on(1, "c")), "2 ranks on c asked for, 1 allowed (slots)"},
		"a binding beside it":         {0, bound, "expected nothing else about ranks, hosts and cores beside a rankfile, which says it all"},
		"a core that is not there":    {0, rankfile(on(0, "n1.a", only(-1, 1, 2))), "ranks:1:1: rank 0 on n1.a: expected a core from 0 to 1, found 2"},
		"a package that is not there": {0, rankfile(on(0, "n1.a", only(1, 0, 0))), "ranks:1:1: rank 0 on n1.a: expected a package from 0 to 0, found 1"},
		"a core of a package":         {0, rankfile(on(0, "n1.a", only(0, 2, -1))), "ranks:1:1: rank 0 on n1.a: expected a core from 0 to 1 of package 0, found 2"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := placement.Place(test.size, hosts, test.policy)
			require.EqualError(t, err, test.want)
		})
	}
}
