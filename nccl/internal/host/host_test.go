package host

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/gorun/gorun/nccl/internal/core"
	"github.com/gorun/gorun/nccl/internal/host/bootstrap"
	"github.com/gorun/gorun/nccl/internal/host/control"
	"github.com/gorun/gorun/nccl/internal/host/fabric"
	"github.com/gorun/gorun/nccl/internal/host/sched"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// faulty returns ranks whose links do what they may.
func faulty(order []int, seed uint64, life int) []*Comm {
	n := len(order)
	comms := make([]*Comm, n)
	members := make([]control.Member, n)
	ports := fabric.Local(n)
	for i, rank := range order {
		port := &fabric.Faulty{Port: ports[rank], Rand: rand.New(rand.NewPCG(seed, uint64(rank))), Life: life}
		comms[rank] = newComm(sched.Ring{Order: order, Index: i}, port, Config{})
		members[rank] = comms[rank]
	}
	for rank, c := range control.Local(members) {
		comms[rank].control = c
	}
	return comms
}

// closeAll ends communicators that nobody finalized.
func closeAll(comms []*Comm) {
	for _, c := range comms {
		c.Close()
	}
}

// onEach submits a call on every rank and waits for all.
func onEach(comms []*Comm, call func(rank int) core.Call) error {
	errs := make([]error, len(comms))
	var wg sync.WaitGroup
	for rank, c := range comms {
		wg.Go(func() {
			s := c.NewStream()
			c.Submit(s, call(rank))
			errs[rank] = s.Wait(context.Background())
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

func bytesOf(x []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), 4*len(x))
}

// noise returns numbers whose sum depends on the order of adding.
func noise(rank, n int) []float32 {
	r := rand.New(rand.NewPCG(7, uint64(rank)))
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(math.Exp(20 * r.NormFloat64()))
	}
	return x
}

// Whatever links do, every rank comes to the same bits as over perfect links.
func TestFaultyLinksChangeNothing(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		n := rapid.IntRange(2, 5).Draw(r, "ranks")
		count := rapid.SampledFrom([]int{0, 1, 5, 100, 1000, 3000, 5000, 70_000}).Draw(r, "count")
		kind := rapid.SampledFrom([]core.Kind{core.AllReduce, core.AllGather, core.ReduceScatter, core.Broadcast}).Draw(r, "collective")
		run := func(comms []*Comm) [][]float32 {
			defer closeAll(comms)
			dst := make([][]float32, n)
			require.NoError(r, onEach(comms, func(rank int) core.Call {
				call := core.Call{Kind: kind, Type: core.Float32, Op: core.Sum, Count: count}
				from, to := count, count
				switch kind {
				case core.AllGather:
					to *= n
				case core.ReduceScatter:
					from *= n
				}
				dst[rank] = make([]float32, to)
				call.Dst, call.Src = bytesOf(dst[rank]), bytesOf(noise(rank, from))
				return call
			}))
			return dst
		}
		seed := rapid.Uint64().Draw(r, "seed")
		require.Equal(r, run(Local(n, Config{})), run(faulty(ranksInOrder(n), seed, 0)))
	})
}

func TestABrokenLinkIsALossInTheEnd(t *testing.T) {
	comms := faulty(ranksInOrder(3), 1, 100_000)
	defer closeAll(comms)
	err := onEach(comms, func(rank int) core.Call {
		x := noise(rank, 1<<20)
		return core.Call{Kind: core.AllReduce, Type: core.Float32, Count: len(x), Dst: bytesOf(x), Src: bytesOf(x)}
	})
	_, ok := errors.AsType[*core.LostError](err)
	require.True(t, ok, "%v", err)
	// Two ranks may find out at the same moment, each about its own link; the
	// others believe whom they hear first.
	for _, c := range comms {
		lost, ok := errors.AsType[*core.LostError](c.Failure())
		require.True(t, ok, "%v", c.Failure())
		require.Len(t, lost.Ranks, 2, "the ends of a link")
	}
}

// join forms a communicator over TCP of ranks that say they are on hosts.
func join(t *testing.T, hosts []string, conf Config) []*Comm {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	addr := netip.MustParseAddr("127.0.0.1")
	root, id, err := bootstrap.Listen(addr)
	require.NoError(t, err)
	defer root.Close()
	comms, errs := make([]*Comm, len(hosts)), make([]error, len(hosts))
	var wg sync.WaitGroup
	for rank, host := range hosts {
		wg.Go(func() {
			comms[rank], errs[rank] = Join(ctx, Seat{ID: id, Rank: rank, Size: len(hosts), Addr: addr, Host: host}, conf)
		})
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
	return comms
}

// leave ends a communicator in good order.
func leave(t *testing.T, comms []*Comm) {
	require.NoError(t, onEach(comms, func(int) core.Call { return core.Call{Kind: core.Barrier} }))
	for _, c := range comms {
		c.Leave()
	}
	for _, c := range comms {
		require.NoError(t, c.Close())
	}
}

func TestRanksOfAHostAreNeighbours(t *testing.T) {
	require.Equal(t, []int{0, 2, 5, 1, 4, 3}, byHost([]string{"a", "b", "a", "c", "b", "a"}))
	comms := join(t, []string{"a", "b", "a", "b"}, Config{})
	for _, c := range comms {
		require.Equal(t, []int{0, 2, 1, 3}, c.machine.ring.Order)
	}
	leave(t, comms)
}

// With RankRing the bits depend on size and call alone, not on where ranks are
// or how they are linked.
func TestRankRingIsTheSameEverywhere(t *testing.T) {
	for _, count := range []int{100, 200_000} {
		sum := func(comms []*Comm) [][]float32 {
			dst := make([][]float32, len(comms))
			require.NoError(t, onEach(comms, func(rank int) core.Call {
				dst[rank] = noise(rank, count)
				return core.Call{Kind: core.AllReduce, Type: core.Float32, Count: count, Dst: bytesOf(dst[rank]), Src: bytesOf(dst[rank])}
			}))
			leave(t, comms)
			return dst
		}
		here := sum(Local(4, Config{RankRing: true}))
		for _, hosts := range [][]string{{"a", "a", "a", "a"}, {"a", "b", "a", "b"}, {"a", "b", "c", "a"}} {
			there := sum(join(t, hosts, Config{RankRing: true}))
			require.Equal(t, here, there, "%v", hosts)
			for rank := range here {
				require.Equal(t, here[0], here[rank])
			}
		}
	}
}

func TestLossesNameHosts(t *testing.T) {
	comms := join(t, []string{"a", "b", "b"}, Config{})
	comms[0].Fail(&core.LostError{Ranks: []int{1, 2}}, true)
	for _, c := range comms {
		<-c.Failed()
		require.Equal(t, &core.LostError{Ranks: []int{1, 2}, Hosts: []string{"b"}}, c.Failure())
		require.NoError(t, c.Close())
	}
}

// A rank that ends after its part of a call, without a goodbye, fails nobody
// who has no more to get from it.
func TestACallCompletesAfterALoss(t *testing.T) {
	comms := join(t, []string{"a", "a", "a"}, Config{patience: time.Hour})
	defer closeAll(comms)
	x := [3][]float32{noise(0, 1000), make([]float32, 1000), make([]float32, 1000)}
	broadcast := func(rank int) core.Call {
		return core.Call{Kind: core.Broadcast, Type: core.Float32, Count: 1000, Dst: bytesOf(x[rank]), Src: bytesOf(x[rank])}
	}
	require.NoError(t, onEach(comms[:1], broadcast))
	require.NoError(t, comms[0].Close())
	for _, c := range comms[1:] {
		<-c.Failed()
		lost, ok := errors.AsType[*core.LostError](c.Failure())
		require.True(t, ok, "%v", c.Failure())
		require.Equal(t, []int{0}, lost.Ranks)
	}
	require.NoError(t, onEach(comms[1:], func(i int) core.Call { return broadcast(i + 1) }))
	require.Equal(t, [3][]float32{x[0], x[0], x[0]}, x)
}

// A call that needs the lost rank fails as soon as the link says so, however
// long others might be waited for.
func TestACallThatNeedsALostRankFails(t *testing.T) {
	comms := join(t, []string{"a", "a"}, Config{patience: time.Hour})
	defer closeAll(comms)
	require.NoError(t, comms[0].Close())
	<-comms[1].Failed()
	lost, ok := errors.AsType[*core.LostError](onEach(comms[1:], func(int) core.Call { return core.Call{Kind: core.Barrier} }))
	require.True(t, ok)
	require.Equal(t, []int{0}, lost.Ranks)
}

// A rank may go without a word on any link: then waiting has an end too, of its
// own or by an abort.
func TestDrainingEnds(t *testing.T) {
	for name, stop := range map[string]func(c *Comm){
		"in time":     nil,
		"by an abort": func(c *Comm) { c.Fail(&core.AbortedError{}, false) },
		"by Close":    func(c *Comm) { c.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			patience := time.Millisecond
			if stop != nil {
				patience = time.Hour
			}
			comms := Local(3, Config{patience: patience})
			defer closeAll(comms)
			c := comms[0]
			s := c.NewStream()
			c.Submit(s, core.Call{Kind: core.Barrier})
			c.Fail(&core.LostError{Ranks: []int{2}}, false)
			if stop != nil {
				stop(c)
			}
			lost, ok := errors.AsType[*core.LostError](s.Wait(t.Context()))
			require.True(t, ok, "the first failure is what ended it")
			require.Equal(t, []int{2}, lost.Ranks)
		})
	}
}

// A call runs after those before it, on whichever stream they are.
func TestCallsKeepTheirOrderAcrossStreams(t *testing.T) {
	comms := Local(2, Config{})
	defer closeAll(comms)
	const calls = 100
	x := [2][]float32{{1}, {1}}
	var wg sync.WaitGroup
	for rank, c := range comms {
		wg.Go(func() {
			streams := []core.Stream{c.NewStream(), c.NewStream(), c.NewStream()}
			for i := range calls {
				op := []core.Op{core.Sum, core.Avg}[i%2]
				c.Submit(streams[i%3], core.Call{Kind: core.AllReduce, Type: core.Float32, Op: op, Count: 1, Dst: bytesOf(x[rank]), Src: bytesOf(x[rank])})
			}
			for _, s := range streams {
				s.Wait(context.Background())
			}
		})
	}
	wg.Wait()
	require.Equal(t, [2][]float32{{1 << (calls / 2)}, {1 << (calls / 2)}}, x)
}

func TestAPanicInAFunctionLeavesTheStreamUsable(t *testing.T) {
	s := newStream()
	s.push(task{fn: func() { panic("fell over") }}) // not by Call: its worker might be first
	require.PanicsWithValue(t, "fell over", func() { s.Wait(context.Background()) })
	ran := false
	s.Call(func() { ran = true })
	require.NoError(t, s.Wait(context.Background()))
	require.True(t, ran)
}

func TestCrowdedCountsSharedCPUs(t *testing.T) {
	rank := func(host string, cpus ...int) record {
		r := record{host: host}
		for _, i := range cpus {
			r.cpus.set(i)
		}
		return r
	}
	for _, tt := range []struct {
		name  string
		ranks []record
		want  bool
	}{
		{"one core each", []record{rank("a", 0), rank("a", 9)}, false},
		{"both on one", []record{rank("a", 0), rank("a", 0)}, true},
		{"unbound", []record{rank("a", 0, 1), rank("a", 0, 1)}, false},
		{"more than cores", []record{rank("a", 0, 1), rank("a", 0, 1), rank("a", 1)}, true},
		{"another host", []record{rank("a", 0), rank("b", 0), rank("b", 0)}, false},
	} {
		t.Run(tt.name, func(t *testing.T) { require.Equal(t, tt.want, crowded(tt.ranks, "a")) })
	}
}

func FuzzRecord(f *testing.F) {
	r := record{host: "node1", conf: Config{Check: true}, cpus: allowedCPUs()}
	f.Add(r.encode())
	f.Add([]byte{recordVersion, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := decodeRecord(b)
		if err == nil {
			require.Equal(t, b, r.encode(), fmt.Sprint(r))
		}
	})
}
