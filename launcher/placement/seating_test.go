package placement_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/launcher/placement"
)

func TestSlotsThatAreNotDeclared(t *testing.T) {
	gpus := twoPackages.with(func(s *shape) { s.gpus = []int{0, 1, 1} })
	tests := map[string]struct {
		shape  shape
		policy placement.Policy
		want   int
	}{
		"cores, not their threads": {twoPackages, placement.Policy{}, 8},
		"cores that are allowed":   {twoPackages.with(func(s *shape) { s.allowed = []int{1} }), placement.Policy{}, 1},
		"GPUs":                     {gpus, placement.Policy{}, 3},
		"GPUs for each":            {gpus, placement.Policy{GPUsPerRank: 2}, 1},
		"no GPUs wanted":           {gpus, placement.Policy{GPUsPerRank: placement.NoGPUs}, 8},
		"cores for each":           {twoPackages, placement.Policy{CPUsPerRank: 3}, 2},
		"as many as GPUs":          {gpus, placement.Policy{PerHost: placement.OnePerGPU}, 3},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			plan, err := placement.Place(0, []placement.Host{test.shape.host("a")}, test.policy)
			require.NoError(t, err)
			require.Equal(t, test.want, plan.Size)
			require.Empty(t, plan.Notes)
		})
	}
}

func TestAloneThereIsARankForEachGPU(t *testing.T) {
	four := laptop.with(func(s *shape) { s.gpus = []int{0, 0, 0, 0} }).host("a")
	require.Equal(t, 4, placement.Alone(four, placement.Policy{}))
	require.Equal(t, 2, placement.Alone(four, placement.Policy{GPUsPerRank: 2}))
	require.Equal(t, 1, placement.Alone(four, placement.Policy{GPUsPerRank: 8}))
	require.Equal(t, 1, placement.Alone(four, placement.Policy{GPUsPerRank: placement.NoGPUs}))
	require.Equal(t, 1, placement.Alone(laptop.host("a"), placement.Policy{}))
	require.Equal(t, 1, placement.Alone(placement.Host{Name: "a"}, placement.Policy{}))
}

func TestOrders(t *testing.T) {
	ab := []placement.Host{slots("a", 2), slots("b", 3)}
	turns := []placement.Host{{Name: "a", Turns: []int{0, 3}}, {Name: "b", Turns: []int{1}}, {Name: "c", Turns: []int{2}}}
	gpus := laptop.with(func(s *shape) { s.gpus = []int{0, 0} })
	tests := map[string]struct {
		size   int
		hosts  []placement.Host
		policy placement.Policy
		want   string
	}{
		"filled, numbered across":        {5, ab, placement.Policy{RankBy: placement.ByNode}, "a 0,2 b 1,3,4"},
		"dealt out, numbered by host":    {4, ab, placement.Policy{MapBy: placement.ByNode, RankBy: placement.BySlot}, "a 0,1 b 2,3"},
		"in the order of the list":       {0, turns, placement.Policy{MapBy: placement.BySequence}, "a 0,3 b 1 c 2"},
		"the first of the list":          {2, turns, placement.Policy{MapBy: placement.BySequence}, "a 0 b 1"},
		"the list again, oversubscribed": {6, turns, placement.Policy{MapBy: placement.BySequence, Oversubscribe: true}, "a 0,3,4 b 1,5 c 2"},
		"a list without turns":           {0, ab, placement.Policy{MapBy: placement.BySequence}, "a 0 b 1"},
		"by GPU, before declared slots":  {3, []placement.Host{gpus.with(func(*shape) {}).host("a"), gpus.host("b")}, placement.Policy{MapBy: placement.ByGPU}, "a 0,1 b 2"},
		"a host without GPUs takes none": {0, []placement.Host{laptop.host("a"), gpus.host("b")}, placement.Policy{PerHost: placement.OnePerGPU}, "b 0,1"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			plan, err := placement.Place(test.size, test.hosts, test.policy)
			require.NoError(t, err)
			require.Equal(t, test.want, seating(plan))
		})
	}
}

func TestOrdersThatCannotBe(t *testing.T) {
	turns := []placement.Host{{Name: "a", Turns: []int{0, 2}, MaxSlots: 1}, {Name: "b", Turns: []int{1}}}
	for name, test := range map[string]struct {
		size   int
		hosts  []placement.Host
		policy placement.Policy
		want   string
	}{
		"more ranks than turns":    {4, turns, placement.Policy{MapBy: placement.BySequence}, "4 ranks asked for, 2 allowed: a 1 (max_slots) + b 1 (times in the list of hosts)"},
		"a turn beyond a maximum":  {3, turns, placement.Policy{MapBy: placement.BySequence, Oversubscribe: true}, "2 ranks on a asked for, 1 allowed (max_slots)"},
		"a rank per GPU, and none": {0, []placement.Host{laptop.host("a")}, placement.Policy{PerHost: placement.OnePerGPU}, "expected a GPU on one of the hosts to count ranks by, found none"},
		"ranks by GPUs they do not get": {
			0, turns, placement.Policy{PerHost: placement.OnePerGPU, GPUsPerRank: placement.NoGPUs},
			"expected GPUs for the ranks, which are counted, mapped, bound or shown by them",
		},
		"words": {
			1, turns, placement.Policy{RankBy: "core", BindTo: "board", GPUVisible: "some", CPUsPerRank: -1, GPUsPerRank: -2}, `
expected at least 1 GPU per rank, found -2
expected at least 1 core per rank, found -1
expected a numbering by slot or node, found "core"
expected a binding to none, share, hwthread, core, l3, numa, package or gpu, found "board"
expected visible GPUs to be all or own, found "some"`[1:],
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := placement.Place(test.size, test.hosts, test.policy)
			require.EqualError(t, err, test.want)
		})
	}
}

// What is foreseeable is not changed by what the hosts turn out to be.
func TestForeseeable(t *testing.T) {
	undeclared, declared := []placement.Host{{Name: "a"}}, []placement.Host{slots("a", 2)}
	require.True(t, placement.Foreseeable(declared, placement.Policy{}))
	require.False(t, placement.Foreseeable(undeclared, placement.Policy{}))
	require.True(t, placement.Foreseeable(undeclared, placement.Policy{PerHost: 2}))
	require.False(t, placement.Foreseeable(declared, placement.Policy{PerHost: placement.OnePerGPU}))
	require.False(t, placement.Foreseeable(declared, placement.Policy{MapBy: placement.ByGPU}))
}
