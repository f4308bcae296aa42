package sched_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gorun/gorun/nccl/internal/host/sched"
)

// maxRanks is up to how many ranks claims are tested.
const maxRanks = 130

// plans returns the plans of all ranks, by rank, of a ring in the given order.
func plans(order []int, plan func(sched.Ring) sched.Plan) []sched.Plan {
	all := make([]sched.Plan, len(order))
	for i, rank := range order {
		all[rank] = plan(sched.Ring{Order: order, Index: i})
	}
	return all
}

func inOrder(n int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	return order
}

// load is what a plan puts on a rank's link, and how many chunks that are.
func load(p sched.Plan) (sent, received, sends int) {
	for m, ok := p.Next(); ok; m, ok = p.Next() {
		if m.Send {
			sent += m.Len
			sends++
		}
		if m.Recv {
			received += m.Len
		}
	}
	return sent, received, sends
}

func TestAllReduceSendsTwiceAllButOneShare(t *testing.T) {
	for n := 2; n <= maxRanks; n++ {
		const share = 8
		all := plans(inOrder(n), func(r sched.Ring) sched.Plan { return sched.AllReduce(r, n*share, 1<<20, share) })
		for rank, p := range all {
			sent, received, sends := load(p)
			require.Equal(t, 2*(n-1)*share, sent, "rank %d of %d", rank, n)
			require.Equal(t, 2*(n-1)*share, received, "rank %d of %d", rank, n)
			require.Equal(t, 2*(n-1), sends, "rank %d of %d", rank, n)
		}
	}
}

func TestAllGatherAndReduceScatterSendAllButOwn(t *testing.T) {
	for n := 2; n <= maxRanks; n++ {
		const count = 5
		for name, plan := range map[string]func(sched.Ring) sched.Plan{
			"all-gather":     func(r sched.Ring) sched.Plan { return sched.AllGather(r, count, 1<<20) },
			"reduce-scatter": func(r sched.Ring) sched.Plan { return sched.ReduceScatter(r, count, 1<<20) },
		} {
			for rank, p := range plans(inOrder(n), plan) {
				sent, received, sends := load(p)
				require.Equal(t, []int{(n - 1) * count, (n - 1) * count, n - 1}, []int{sent, received, sends}, "%s, rank %d of %d", name, rank, n)
			}
		}
	}
}

func TestBroadcastCrossesEachLinkButOne(t *testing.T) {
	for n := 2; n <= maxRanks; n++ {
		root := n / 2
		const count = 7
		for rank, p := range plans(inOrder(n), func(r sched.Ring) sched.Plan { return sched.Broadcast(r, count, 3, root) }) {
			sent, received, _ := load(p)
			want := []int{count, count}
			if rank == root {
				want[1] = 0
			}
			if (rank+1)%n == root {
				want[0] = 0
			}
			require.Equal(t, want, []int{sent, received}, "rank %d of %d", rank, n)
		}
	}
}

func TestEveryPlanIsRightForEverySize(t *testing.T) {
	for n := 2; n <= maxRanks; n++ {
		order := inOrder(n)
		if n%2 == 0 {
			rand.New(rand.NewPCG(1, uint64(n))).Shuffle(n, func(i, j int) { order[i], order[j] = order[j], order[i] })
		}
		verify(t, order, 3, 2, 1, n-1) // two rounds, the last not full
		r := func(r sched.Ring) sched.Plan { return sched.AllReduce(r, n+3, 1, 1) }
		require.NoError(t, sched.Verify(sched.ReducesAll, plans(order, r), order, n+3, 0), "%d ranks", n)
	}
}

func TestEveryPlanIsRightForEveryShape(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		n := rapid.IntRange(2, 9).Draw(r, "ranks")
		order := rapid.Permutation(inOrder(n)).Draw(r, "order")
		grain := rapid.IntRange(1, 4).Draw(r, "grain")
		chunk := grain * rapid.IntRange(1, 6).Draw(r, "grains in a chunk")
		count := rapid.IntRange(0, 100).Draw(r, "count")
		verify(r, order, count, chunk, grain, rapid.IntRange(0, n-1).Draw(r, "root"))
	})
}

// verify checks the plans of all collectives.
func verify(t require.TestingT, order []int, count, chunk, grain, root int) {
	for _, c := range []struct {
		name string
		kind sched.Collective
		plan func(sched.Ring) sched.Plan
	}{
		{"all-reduce", sched.ReducesAll, func(r sched.Ring) sched.Plan { return sched.AllReduce(r, count, chunk, grain) }},
		{"all-gather", sched.GathersAll, func(r sched.Ring) sched.Plan { return sched.AllGather(r, count, chunk) }},
		{"reduce-scatter", sched.ReducesScattered, func(r sched.Ring) sched.Plan { return sched.ReduceScatter(r, count, chunk) }},
		{"broadcast", sched.Broadcasts, func(r sched.Ring) sched.Plan { return sched.Broadcast(r, count, chunk, root) }},
	} {
		require.NoError(t, sched.Verify(c.kind, plans(order, c.plan), order, count, root), "%s of %d elements over %v", c.name, count, order)
	}
}

// A verifier that finds nothing proves nothing: plans that do not belong
// together must be found out.
func TestVerifyFindsFault(t *testing.T) {
	order := inOrder(4)
	reduce := func(r sched.Ring) sched.Plan { return sched.AllReduce(r, 16, 4, 1) }
	for _, tt := range []struct {
		name  string
		spoil func([]sched.Plan)
		kind  sched.Collective
		want  string
	}{
		{"a rank with other chunks", func(p []sched.Plan) {
			p[2] = sched.AllReduce(sched.Ring{Order: order, Index: 2}, 16, 2, 1)
		}, sched.ReducesAll, "sends"},
		{"a rank with another collective", func(p []sched.Plan) {
			p[1] = sched.Broadcast(sched.Ring{Order: order, Index: 1}, 16, 4, 1)
		}, sched.ReducesAll, ""},
		{"a rank in another's seat", func(p []sched.Plan) {
			p[1] = sched.AllReduce(sched.Ring{Order: order, Index: 3}, 16, 4, 1)
		}, sched.ReducesAll, "reduces element"},
		{"another promise", func([]sched.Plan) {}, sched.ReducesScattered, "want element"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			all := plans(order, reduce)
			tt.spoil(all)
			err := sched.Verify(tt.kind, all, order, 16, 0)
			require.Error(t, err)
			require.ErrorContains(t, err, tt.want)
		})
	}
}

// The trace of three ranks reads as the algorithm: a block goes round to be
// completed, and once more to be known.
func ExamplePlan() {
	plan := sched.AllReduce(sched.Ring{Order: []int{0, 1, 2}, Index: 1}, 6, 100, 1)
	for m, ok := plan.Next(); ok; m, ok = plan.Next() {
		fmt.Printf("elements %d-%d:", m.Out, m.Out+m.Len-1)
		if m.Recv {
			fmt.Print(" receive")
		}
		if m.Reduce {
			fmt.Print(" reduce")
		}
		if m.Final {
			fmt.Print(" complete")
		}
		if m.Send {
			fmt.Print(" send")
		}
		fmt.Println()
	}
	// Output:
	// elements 0-1: send
	// elements 4-5: receive reduce send
	// elements 2-3: receive reduce complete send
	// elements 0-1: receive send
	// elements 4-5: receive
}
