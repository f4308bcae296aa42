package placement_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gorun/gorun/launcher/placement"
)

// draw makes a job of any shape, on hosts of any.
func draw(t *rapid.T) (size int, hosts []placement.Host, p placement.Policy) {
	small := rapid.IntRange(0, 5)
	for i := range rapid.IntRange(1, 6).Draw(t, "hosts") {
		name := fmt.Sprint("n", i)
		h := placement.Host{Name: name}
		if rapid.Bool().Draw(t, "known") {
			h = drawShape(t).host(name)
		}
		h.Slots = small.Draw(t, "slots")
		h.MaxSlots = rapid.SampledFrom([]int{0, 0, 0, 1, 3, 9}).Draw(t, "max slots")
		hosts = append(hosts, h)
	}
	p.MapBy = rapid.SampledFrom([]string{"", placement.BySlot, placement.ByNode, placement.ByNUMA, placement.ByPackage, placement.ByL3, placement.ByGPU}).Draw(t, "map by")
	p.RankBy = rapid.SampledFrom([]string{"", "", placement.BySlot, placement.ByNode}).Draw(t, "rank by")
	p.BindTo = rapid.SampledFrom([]string{"", "", "none", "share", "hwthread", "core", "l3", "numa", "package", "gpu"}).Draw(t, "bind to")
	p.GPUVisible = rapid.SampledFrom([]string{"", "all", "own"}).Draw(t, "visible")
	p.PerHost = rapid.SampledFrom([]int{0, 0, 1, 2, 7, placement.OnePerGPU}).Draw(t, "per host")
	p.GPUsPerRank = rapid.SampledFrom([]int{0, 0, 1, 2, placement.NoGPUs}).Draw(t, "GPUs per rank")
	p.CPUsPerRank = rapid.SampledFrom([]int{0, 0, 1, 2, 3}).Draw(t, "CPUs per rank")
	p.Oversubscribe = rapid.Bool().Draw(t, "oversubscribe")
	p.NoOversubscribe = !p.Oversubscribe && rapid.Bool().Draw(t, "no oversubscribe")
	if rapid.Bool().Draw(t, "programs") {
		p.Apps = rapid.SliceOfN(rapid.IntRange(1, 9), 1, 4).Draw(t, "apps")
		return 0, hosts, p
	}
	return rapid.IntRange(0, 30).Draw(t, "size"), hosts, p
}

func drawShape(t *rapid.T) shape {
	few := rapid.IntRange(1, 3)
	s := shape{
		packages: few.Draw(t, "packages"), nodes: few.Draw(t, "nodes"),
		cores: few.Draw(t, "cores"), threads: rapid.IntRange(1, 2).Draw(t, "threads"),
		noNUMA: rapid.Bool().Draw(t, "no NUMA"),
	}
	all := upTo(s.packages * s.nodes * s.cores * s.threads)
	s.allowed = rapid.SliceOfNDistinct(rapid.SampledFrom(all), 1, len(all), rapid.ID).Draw(t, "allowed")
	places := rapid.SliceOfN(rapid.IntRange(-1, s.packages*s.nodes-1), 0, 4)
	s.gpus, s.nics = places.Draw(t, "GPUs"), places.Draw(t, "adapters")
	return s
}

// limit is how many ranks a host may have by what is declared.
func limit(h placement.Host, p placement.Policy) int {
	most := 1 << 30
	if h.Slots > 0 && !p.Oversubscribe {
		most = h.Slots
	}
	if h.MaxSlots > 0 {
		most = min(most, h.MaxSlots)
	}
	if p.PerHost > 0 {
		most = min(most, p.PerHost)
	}
	return most
}

func TestPlanProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size, hosts, p := draw(t)
		plan, err := placement.Place(size, hosts, p)
		if err != nil {
			requireReason(t, size, hosts, p, err)
			return
		}
		require.NoError(t, placement.Check(size, hosts, p))
		if size > 0 {
			require.Equal(t, size, plan.Size)
		}
		seen := make([]bool, plan.Size)
		last := -1
		for node, a := range plan.Hosts {
			require.Greater(t, a.Index, last, "hosts keep their order")
			last = a.Index
			h := hosts[a.Index]
			require.Equal(t, h.Name, a.Host)
			require.NotEmpty(t, a.Seats)
			require.LessOrEqual(t, len(a.Seats), limit(h, p), "host %s", a.Host)
			for local, s := range a.Seats {
				require.False(t, seen[s.Rank], "rank %d has two seats", s.Rank)
				seen[s.Rank] = true
				require.Equal(t, s, plan.Seat(s.Rank))
				require.Equal(t, a.Host, s.Host)
				require.Equal(t, node, s.Node)
				require.Equal(t, local, s.LocalRank)
				if local > 0 {
					require.Greater(t, s.Rank, a.Seats[local-1].Rank)
					if p.MapBy != placement.ByNode && p.RankBy != placement.ByNode || p.RankBy == placement.BySlot {
						require.Equal(t, a.Seats[local-1].Rank+1, s.Rank, "by slot, a host's ranks are neighbours")
					}
				}
			}
			requireBindings(t, h, a, p)
			requireDevices(t, h, a, p)
		}
		require.NotContains(t, seen, false)

		app := make([]int, len(p.Apps))
		for rank := range plan.Size {
			if s := plan.Seat(rank); len(p.Apps) > 0 {
				app[s.App]++
				if rank > 0 {
					require.GreaterOrEqual(t, s.App, plan.Seat(rank-1).App)
				}
			}
		}
		if len(p.Apps) > 0 {
			require.Equal(t, p.Apps, app)
		}
	})
}

// requireReason fails if a job was refused that asks for nothing but ranks, and
// those would fit.
func requireReason(t *rapid.T, size int, hosts []placement.Host, p placement.Policy, err error) {
	plain := placement.Policy{MapBy: p.MapBy, RankBy: p.RankBy, PerHost: p.PerHost, Apps: p.Apps, Oversubscribe: p.Oversubscribe, GPUVisible: p.GPUVisible}
	if p.MapBy == placement.ByGPU || p.PerHost == placement.OnePerGPU || placement.Check(size, hosts, plain) == nil {
		_, again := placement.Place(size, hosts, plain)
		asked := p.BindTo != "" || p.GPUsPerRank != 0 || p.CPUsPerRank != 0 || p.MapBy == placement.ByGPU || p.PerHost == placement.OnePerGPU || p.NoOversubscribe
		require.True(t, asked || again != nil, "refused though all fit: %v", err)
		return
	}
	room := 0
	for _, h := range hosts {
		room += limit(h, p)
	}
	for _, n := range p.Apps {
		size += n
	}
	require.True(t, room < size || size == 0 && p.PerHost > 0, "refused though all fit: %v", err)
}

// requireBindings checks that ranks are bound within what is allowed, to as much as
// was asked for, and not to the same where there is enough for all.
func requireBindings(t *rapid.T, h placement.Host, a placement.Assignment, p placement.Policy) {
	coreOf := map[int]int{}
	if h.Topo != nil {
		for _, th := range h.Topo.Threads {
			coreOf[th.CPU] = th.Core
		}
	}
	cores := map[int]bool{}
	for _, cpu := range h.CPUs {
		cores[coreOf[cpu]] = true
	}
	used := map[int]int{}
	for _, s := range a.Seats {
		require.True(t, slices.IsSorted(s.CPUs))
		own := map[int]bool{}
		for _, cpu := range s.CPUs {
			require.Contains(t, h.CPUs, cpu, "rank %d is bound to what is not allowed", s.Rank)
			used[cpu]++
			own[coreOf[cpu]] = true
		}
		switch {
		case h.CPUs == nil || p.BindTo == placement.ToNone:
			require.Empty(t, s.CPUs)
		case p.BindTo == placement.ToThread:
			require.Len(t, s.CPUs, max(p.CPUsPerRank, 1))
		case p.BindTo == placement.ToCore:
			require.Len(t, own, max(p.CPUsPerRank, 1))
		case p.BindTo == placement.ToL3, p.BindTo == placement.ToNUMA, p.BindTo == placement.ToPackage:
			require.GreaterOrEqual(t, len(own), max(p.CPUsPerRank, 1))
		case p.CPUsPerRank > 0:
			require.Len(t, own, p.CPUsPerRank)
		case p.BindTo == placement.ToShare:
			require.Equal(t, len(a.Seats) <= len(cores), len(own) > 0, "bound if there is a core for each")
		}
	}
	apart := p.BindTo == placement.ToShare || p.BindTo == placement.ToCore || p.BindTo == placement.ToThread ||
		p.BindTo == "" && (h.Topo == nil || len(h.Topo.Accelerators) == 0 || p.GPUsPerRank == placement.NoGPUs)
	if apart {
		for cpu, n := range used {
			require.Equal(t, 1, n, "CPU %d is in several shares", cpu)
		}
	}
}

// requireDevices checks that ranks have the host's GPUs in order, as many as were
// asked for, and see them.
func requireDevices(t *rapid.T, h placement.Host, a placement.Assignment, p placement.Policy) {
	n := 0
	if h.Topo != nil && p.GPUsPerRank != placement.NoGPUs {
		n = len(h.Topo.Accelerators)
	}
	each := max(p.GPUsPerRank, 1)
	for local, s := range a.Seats {
		if n == 0 {
			require.True(t, p.GPUsPerRank <= 0 || h.Topo == nil)
			require.Empty(t, s.GPUs)
			require.Empty(t, s.Visible)
			continue
		}
		require.Len(t, s.GPUs, each)
		require.Equal(t, h.Topo.Accelerators[local*each%n].UUID, s.GPUs[0])
		if p.GPUVisible == placement.OwnVisible {
			require.Equal(t, s.GPUs, s.Visible)
			continue
		}
		require.Len(t, s.Visible, n)
		require.Equal(t, s.GPUs[0], s.Visible[local*each%n], "device of the local rank's number")
	}
}
