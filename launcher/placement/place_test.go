package placement_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gorun/gorun/launcher/placement"
)

// slots, cpus and limited make a host.
func slots(name string, n int) placement.Host { return placement.Host{Name: name, Slots: n} }

func cpus(name string, n int) placement.Host { return placement.Host{Name: name, CPUs: upTo(n)} }

// upTo are the numbers below n; nil if there are none.
func upTo(n int) (list []int) {
	for i := range n {
		list = append(list, i)
	}
	return list
}

func limited(name string, n, most int) placement.Host {
	return placement.Host{Name: name, Slots: n, MaxSlots: most}
}

// seating writes a plan as "a 0,1 b 2": hosts and their ranks.
func seating(p *placement.Plan) string {
	var words []string
	for _, a := range p.Hosts {
		var ranks []string
		for _, s := range a.Seats {
			ranks = append(ranks, fmt.Sprint(s.Rank))
		}
		words = append(words, a.Host, strings.Join(ranks, ","))
	}
	return strings.Join(words, " ")
}

func TestPlace(t *testing.T) {
	byNode := placement.Policy{MapBy: placement.ByNode}
	tests := map[string]struct {
		size   int
		hosts  []placement.Host
		policy placement.Policy
		want   string
		notes  []string
	}{
		"one rank per slot":            {0, []placement.Host{slots("a", 2), slots("b", 1)}, placement.Policy{}, "a 0,1 b 2", nil},
		"one rank per CPU":             {0, []placement.Host{cpus("a", 2), slots("b", 1)}, placement.Policy{}, "a 0,1 b 2", nil},
		"a host of unknown CPUs":       {0, []placement.Host{cpus("a", 0), slots("b", 2)}, placement.Policy{}, "a 0 b 1,2", nil},
		"a host before the next":       {3, []placement.Host{slots("a", 2), slots("b", 2)}, placement.Policy{}, "a 0,1 b 2", nil},
		"named mapping":                {3, []placement.Host{slots("a", 2), slots("b", 2)}, placement.Policy{MapBy: placement.BySlot}, "a 0,1 b 2", nil},
		"slots that differ":            {4, []placement.Host{slots("a", 1), slots("b", 3)}, placement.Policy{}, "a 0 b 1,2,3", nil},
		"a host that is not needed":    {2, []placement.Host{slots("a", 2), slots("b", 2)}, placement.Policy{}, "a 0,1", nil},
		"by node":                      {5, []placement.Host{slots("a", 4), slots("b", 4)}, byNode, "a 0,2,4 b 1,3", nil},
		"by node past full hosts":      {6, []placement.Host{slots("a", 1), slots("b", 4), slots("c", 2)}, byNode, "a 0 b 1,3,5 c 2,4", nil},
		"more ranks per host than all": {3, []placement.Host{cpus("a", 64), cpus("b", 64)}, placement.Policy{PerHost: 36}, "a 0,1,2", nil},
		"ranks per host":               {4, []placement.Host{cpus("a", 64), cpus("b", 64)}, placement.Policy{PerHost: 2}, "a 0,1 b 2,3", nil},
		"ranks per host are the size":  {0, []placement.Host{slots("a", 4), cpus("b", 0)}, placement.Policy{PerHost: 2}, "a 0,1 b 2,3", nil},
		"ranks per host within slots":  {6, []placement.Host{slots("a", 2), slots("b", 8)}, placement.Policy{PerHost: 4}, "a 0,1 b 2,3,4,5", nil},
		"ranks per host, one by one":   {3, []placement.Host{cpus("a", 1), cpus("b", 64)}, placement.Policy{PerHost: 2, MapBy: placement.ByNode}, "a 0,2 b 1", []string{"more ranks than cores: a 2 on 1"}},
		"slots above the maximum":      {0, []placement.Host{limited("a", 4, 2), limited("b", 0, 3)}, placement.Policy{}, "a 0,1 b 2", nil},

		"more ranks than cores": {
			4, []placement.Host{cpus("localhost", 2)}, placement.Policy{},
			"localhost 0,1,2,3", []string{"more ranks than cores: localhost 4 on 2"},
		},
		"a surplus goes where slots are not declared": {
			6, []placement.Host{slots("a", 1), cpus("b", 2), cpus("c", 1)}, placement.Policy{},
			"a 0 b 1,2,3,4 c 5", []string{"more ranks than cores: b 4 on 2"},
		},
		"a surplus by node": {
			7, []placement.Host{slots("a", 1), cpus("b", 2), cpus("c", 1)}, byNode,
			"a 0 b 1,3,4,6 c 2,5", []string{"more ranks than cores: b 4 on 2, c 2 on 1"},
		},
		"a surplus below the maximum": {
			5, []placement.Host{{Name: "a", CPUs: upTo(2), MaxSlots: 3}, cpus("b", 1)}, placement.Policy{},
			"a 0,1,2 b 3,4", []string{"more ranks than cores: a 3 on 2, b 2 on 1"},
		},
		"oversubscribed": {
			6, []placement.Host{slots("a", 2), limited("b", 1, 2)}, placement.Policy{Oversubscribe: true},
			"a 0,1,2,3 b 4,5", []string{"more ranks than declared slots: a 4 on 2, b 2 on 1"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, placement.Check(test.size, test.hosts, test.policy))
			plan, err := placement.Place(test.size, test.hosts, test.policy)
			require.NoError(t, err)
			require.Equal(t, test.want, seating(plan))
			require.Equal(t, test.notes, plan.Notes)
		})
	}
}

func TestPlaceRefuses(t *testing.T) {
	ab := []placement.Host{slots("a", 4), slots("b", 4)}
	many := make([]placement.Host, 100)
	for i := range many {
		many[i] = slots(fmt.Sprintf("n%02d", i), 1)
	}
	tests := map[string]struct {
		size   int
		hosts  []placement.Host
		policy placement.Policy
		want   string
	}{
		"slots":       {12, ab, placement.Policy{}, "12 ranks asked for, 8 slots declared: a 4 + b 4"},
		"by node too": {12, ab, placement.Policy{MapBy: placement.ByNode}, "12 ranks asked for, 8 slots declared: a 4 + b 4"},
		"programs":    {0, ab, placement.Policy{Apps: []int{6, 6}}, "12 ranks asked for, 8 slots declared: a 4 + b 4"},
		"many hosts": {
			101, many, placement.Policy{},
			"101 ranks asked for, 100 slots declared: n00 1 + n01 1 + n02 1 + n03 1 + n04 1 + n05 1 + n06 1 + n07 1 + 92 more hosts",
		},
		"maximum": {
			9, []placement.Host{limited("a", 2, 4), limited("b", 0, 3)}, placement.Policy{Oversubscribe: true},
			"9 ranks asked for, 7 allowed: a 4 (max_slots) + b 3 (max_slots)",
		},
		"ranks per host": {
			9, []placement.Host{slots("a", 1), cpus("b", 64)}, placement.Policy{PerHost: 2},
			"9 ranks asked for, 3 allowed: a 1 (slots) + b 2 (per host)",
		},
		"ranks per host above slots": {
			0, []placement.Host{slots("a", 2), slots("b", 8)}, placement.Policy{PerHost: 4},
			"8 ranks asked for, 6 allowed: a 2 (slots) + b 4 (per host)",
		},
		"no hosts":           {1, nil, placement.Policy{}, "no hosts to place ranks on"},
		"unknown mapping":    {1, ab, placement.Policy{MapBy: "socket"}, `expected a mapping by slot, node, numa, package, l3, gpu, seq or rankfile, found "socket"`},
		"negative size":      {-1, ab, placement.Policy{}, "expected a number of ranks of at least 1, found -1"},
		"negative per host":  {1, ab, placement.Policy{PerHost: -2}, "expected at least 1 rank per host, found -2"},
		"negative slots":     {1, []placement.Host{slots("a", -1)}, placement.Policy{}, "a: slots=-1 and max_slots=0 must not be negative"},
		"program of nothing": {1, ab, placement.Policy{Apps: []int{1, 0}}, "expected at least 1 rank of program 2, found 0"},
		"sum of programs":    {5, ab, placement.Policy{Apps: []int{1, 2}}, "expected 5 ranks of 2 programs together, found 3"},
		"absurd size":        {1 << 40, ab, placement.Policy{}, "expected at most 1048576 ranks, found 1099511627776"},
		"absurd slots":       {0, []placement.Host{slots("a", 1<<62), slots("b", 1<<62)}, placement.Policy{}, "expected at most 1048576 ranks, found more"},
		"all at once": {
			-1, nil, placement.Policy{MapBy: "core"},
			"no hosts to place ranks on\n" +
				"expected a number of ranks of at least 1, found -1\n" +
				`expected a mapping by slot, node, numa, package, l3, gpu, seq or rankfile, found "core"`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := placement.Place(test.size, test.hosts, test.policy)
			require.EqualError(t, err, test.want)
			require.EqualError(t, placement.Check(test.size, test.hosts, test.policy), test.want, "known before the hosts are reached")
		})
	}
}

func TestSlotsThatAreNotDeclaredAsALimit(t *testing.T) {
	hosts := []placement.Host{cpus("a", 2), slots("b", 1)}
	p := placement.Policy{NoOversubscribe: true}
	require.NoError(t, placement.Check(4, hosts[:1], p), "what is not known yet limits nothing")
	plan, err := placement.Place(3, hosts, p)
	require.NoError(t, err)
	require.Equal(t, "a 0,1 b 2", seating(plan))
	_, err = placement.Place(4, hosts, p)
	require.EqualError(t, err, "4 ranks asked for, 3 allowed: a 2 (one for each GPU or core) + b 1 (slots)")
	_, err = placement.Place(2, hosts, placement.Policy{NoOversubscribe: true, Oversubscribe: true})
	require.ErrorContains(t, err, "found both")
}

func TestPrograms(t *testing.T) {
	plan, err := placement.Place(0, []placement.Host{slots("a", 2), slots("b", 2)}, placement.Policy{Apps: []int{1, 3}})
	require.NoError(t, err)
	require.Equal(t, "a 0,1 b 2,3", seating(plan))
	for rank, app := range []int{0, 1, 1, 1} {
		require.Equal(t, app, plan.Seat(rank).App)
	}
}

func TestHostsOfOneName(t *testing.T) {
	plan, err := placement.Place(3, []placement.Host{slots("a", 1), slots("a", 1), slots("b", 1)}, placement.Policy{})
	require.NoError(t, err)
	require.Equal(t, "a 0 a 1 b 2", seating(plan))
	require.Equal(t, 1, plan.Seat(1).Node)
}

// By node, hosts of the same kind differ by one rank at most, and a host has
// fewer than another only if it is full.
func TestByNodeIsBalanced(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hosts := make([]placement.Host, rapid.IntRange(1, 8).Draw(t, "hosts"))
		free := 0
		for i := range hosts {
			hosts[i].Slots = rapid.IntRange(1, 6).Draw(t, "slots")
			free += hosts[i].Slots
		}
		size := rapid.IntRange(1, free).Draw(t, "size")
		plan, err := placement.Place(size, hosts, placement.Policy{MapBy: placement.ByNode})
		require.NoError(t, err)
		ranks := make([]int, len(hosts))
		for _, a := range plan.Hosts {
			ranks[a.Index] = len(a.Seats)
		}
		for i, n := range ranks {
			if n < slices.Max(ranks)-1 {
				require.Equal(t, hosts[i].Slots, n)
			}
		}
	})
}
