package placement_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/launcher/placement"
)

// devices writes what GPUs each rank has and sees: "a0 of a0 a1".
func devices(p *placement.Plan) (list []string) {
	short := func(gpus []string) string { return strings.ReplaceAll(strings.Join(gpus, " "), "GPU-", "") }
	for rank := range p.Size {
		s := p.Seat(rank)
		list = append(list, short(s.GPUs)+" of "+short(s.Visible))
	}
	return list
}

func TestGPUs(t *testing.T) {
	three := laptop.with(func(s *shape) { s.gpus = []int{0, 0, 0} })
	unknown := three.host("a")
	unknown.Topo.Accelerators[1].UUID = ""
	chosen := three.host("a")
	chosen.Topo.Accelerators[0], chosen.Topo.Accelerators[2] = chosen.Topo.Accelerators[2], chosen.Topo.Accelerators[0]
	tests := map[string]struct {
		host   placement.Host
		ranks  int
		policy placement.Policy
		want   []string
		notes  []string
	}{
		"one each, all seen":       {three.host("a"), 3, placement.Policy{}, []string{"a0 of a0 a1 a2", "a1 of a0 a1 a2", "a2 of a0 a1 a2"}, nil},
		"one each, own seen":       {three.host("a"), 2, placement.Policy{GPUVisible: placement.OwnVisible}, []string{"a0 of a0", "a1 of a1"}, nil},
		"two each":                 {eightGPUs.host("a"), 2, placement.Policy{GPUsPerRank: 2, GPUVisible: placement.OwnVisible}, []string{"a0 a1 of a0 a1", "a2 a3 of a2 a3"}, nil},
		"device of the local rank": {chosen, 2, placement.Policy{}, []string{"a2 of a2 a1 a0", "a1 of a2 a1 a0"}, nil},
		"shared":                   {three.host("a"), 4, placement.Policy{}, []string{"a0 of a0 a1 a2", "a1 of a0 a1 a2", "a2 of a0 a1 a2", "a0 of a0 a1 a2"}, []string{"more ranks than GPUs: a 4 on 3"}},
		"none wanted":              {three.host("a"), 1, placement.Policy{GPUsPerRank: placement.NoGPUs}, []string{" of "}, nil},
		"none there":               {laptop.host("a"), 1, placement.Policy{}, []string{" of "}, nil},
		"by index, if the driver does not know a UUID yet": {unknown, 2, placement.Policy{}, []string{"0 of 0 1 2", "1 of 0 1 2"}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			plan, err := placement.Place(test.ranks, []placement.Host{test.host}, test.policy)
			require.NoError(t, err)
			require.Equal(t, test.want, devices(plan))
			require.Equal(t, test.notes, plan.Notes)
		})
	}
}

func TestNICs(t *testing.T) {
	far := eightGPUs.with(func(s *shape) { s.nics = []int{0, 1} })
	down := far.host("a")
	down.Topo.Adapters[1].Active = false
	tests := map[string]struct {
		host  placement.Host
		ranks int
		want  []string // of each rank; "": any
		whole []string // what all ranks of the host are told; nil: nothing
	}{
		"one below the bridge of each GPU":             {eightGPUs.host("a"), 2, []string{"mlx5_0", "mlx5_1"}, []string{"mlx5_0", "mlx5_1"}},
		"all of them together, so nothing is left out": {eightGPUs.host("a"), 8, []string{"mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3", "mlx5_4", "mlx5_5", "mlx5_6", "mlx5_7"}, nil},
		"one on the GPU's node":                        {far.host("a"), 1, []string{"mlx5_0"}, []string{"mlx5_0"}},
		"the only one that is up":                      {down, 5, []string{"", "", "", "", ""}, nil},
		"none is nearer":                               {virtual.with(func(s *shape) { s.gpus, s.nics = []int{-1}, []int{-1, -1} }).host("a"), 1, []string{""}, nil},
		"no GPU":                                       {laptop.with(func(s *shape) { s.nics = []int{0, 0} }).host("a"), 1, []string{""}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			plan, err := placement.Place(test.ranks, []placement.Host{test.host}, placement.Policy{})
			require.NoError(t, err)
			var got []string
			for rank := range plan.Size {
				got = append(got, strings.Join(plan.Seat(rank).NICs, ","))
			}
			require.Equal(t, test.want, got)
			require.Equal(t, test.whole, plan.Hosts[0].NICs)
		})
	}
}
