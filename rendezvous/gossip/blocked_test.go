package gossip_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gorun/gorun/rankenv"
	"github.com/gorun/gorun/rendezvous"
	"github.com/gorun/gorun/rendezvous/gossip"
)

// startBlocked makes members in virtual time, of which pairs cannot hear each
// other.
func startBlocked(t *testing.T, hosts []rendezvous.Host, blocked func(from, to int) bool, change func(*gossip.Config)) *cluster {
	return startOver(t, hosts, &memnet{blocked: blocked, ports: map[int]*memport{}}, change)
}

// startOver makes members over a network in virtual time.
func startOver(t *testing.T, hosts []rendezvous.Host, m *memnet, change func(*gossip.Config)) *cluster {
	c := &cluster{star: &star{}}
	t.Cleanup(func() {
		c.close()
		time.Sleep(time.Minute) // of virtual time: memberlist's last probes end
	})
	for i := range hosts {
		conf := &gossip.Config{
			World:  rankenv.World{Node: i, Nodes: len(hosts), Job: "job"},
			Roster: hosts,
			Bind:   memAddr(i),
			Key:    make([]byte, 32),
			Relay:  spoke{c.star, i},
		}
		change(conf)
		node, err := gossip.JoinOver(t.Context(), conf, m.listen)
		require.NoError(t, err)
		c.nodes = append(c.nodes, node)
		c.addrs = append(c.addrs, memAddr(i))
	}
	c.star.nodes = c.nodes
	return c
}

func TestBlockedPairCostsOneWarning(t *testing.T) {
	for _, tc := range []struct {
		name string
		way  func(from, to int) bool
	}{
		{"both ways", func(from, to int) bool { return from+to == 1 }},
		{"down", func(from, to int) bool { return from == 0 && to == 1 }},
		{"up", func(from, to int) bool { return from == 1 && to == 0 }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log syncBuffer
				hosts := roster(3, 1)
				c := startBlocked(t, hosts, tc.way, func(conf *gossip.Config) { conf.Log = warnings(&log) })
				c.open(hosts)
				c.meet(t)
				began := time.Now()
				c.eachRank(t, talk)
				require.Less(t, time.Since(began), time.Second, "the relay does not wait for the time-out")
				time.Sleep(time.Minute)
				require.Equal(t, 1, strings.Count(log.String(), "\n"), "%s", log.String())
				require.Contains(t, log.String(), `"no gossip between h0 and h1, their values go through the launcher"`)
			})
		})
	}
}

// Other members probe for two that lose each other's packets, and streams carry
// the values: nobody is suspected.
func TestPacketsAloneAreNotNeeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log syncBuffer
		hosts := roster(4, 1)
		m := &memnet{
			blocked: func(int, int) bool { return false },
			lossy:   func(from, to int) bool { return from+to == 1 },
			ports:   map[int]*memport{},
		}
		c := startOver(t, hosts, m, func(conf *gossip.Config) { conf.Relay, conf.Log = nil, warnings(&log) })
		c.open(hosts)
		c.meet(t)
		c.eachRank(t, talk)
		time.Sleep(time.Minute)
		require.Empty(t, log.String())
		for _, node := range c.nodes {
			require.Len(t, node.Members(), 4)
			for _, m := range node.Members() {
				require.False(t, m.Suspect, "%v", m)
			}
		}
	})
}

// Packets alone carry no values: those go through the launcher.
func TestBlockedStreamsCostOneWarning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log syncBuffer
		hosts := roster(3, 1)
		m := &memnet{
			blocked: func(from, to int) bool { return from+to == 1 },
			lossy:   func(int, int) bool { return false },
			ports:   map[int]*memport{},
		}
		c := startOver(t, hosts, m, func(conf *gossip.Config) { conf.Log = warnings(&log) })
		c.open(hosts)
		c.meet(t)
		c.eachRank(t, talk)
		time.Sleep(time.Minute)
		require.Equal(t, 1, strings.Count(log.String(), "\n"), "%s", log.String())
		require.Contains(t, log.String(), `"no gossip between h0 and h1, their values go through the launcher"`)
	})
}

func TestWithoutRelayValuesGoAround(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// Node 0 is the root: node 2 has no other neighbour in the tree.
		blocked := func(from, to int) bool { return from+to == 2 && from != to }
		hosts := roster(3, 1)
		c := startBlocked(t, hosts, blocked, func(conf *gossip.Config) { conf.Relay = nil })
		c.open(hosts)
		c.meet(t)
		c.eachRank(t, talk)
	})
}

func TestWorkingGossipSparesTheLauncher(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hosts := roster(4, 1)
		c := startBlocked(t, hosts, func(int, int) bool { return false }, func(*gossip.Config) {})
		c.open(hosts)
		c.meet(t)
		c.eachRank(t, talk)
		time.Sleep(time.Second) // all have heard all; the next messages say so
		c.eachRank(t, func(ctx context.Context, job *rendezvous.Job) error { return job.Barrier(ctx, "heard") })
		time.Sleep(time.Second)
		c.star.mu.Lock()
		before := c.star.sent
		c.star.mu.Unlock()
		for i := range 10 {
			c.eachRank(t, func(ctx context.Context, job *rendezvous.Job) error { return job.Barrier(ctx, fmt.Sprint(i)) })
		}
		time.Sleep(time.Second)
		c.star.mu.Lock()
		defer c.star.mu.Unlock()
		require.Equal(t, before, c.star.sent)
	})
}

func TestTreeClosesAroundALostHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hosts := roster(12, 1) // 9, 10, 11 hang below 1
		dead := false
		var mu sync.Mutex
		blocked := func(from, to int) bool {
			mu.Lock()
			defer mu.Unlock()
			return dead && from != to && (from == 1 || to == 1)
		}
		c := startBlocked(t, hosts, blocked, func(conf *gossip.Config) { conf.Relay = nil })
		c.open(hosts)
		c.meet(t)
		c.eachRank(t, talk)
		mu.Lock()
		dead = true
		mu.Unlock()
		for i, node := range c.nodes {
			if i != 1 {
				require.NoError(t, node.Report(rendezvous.Event{Time: time.Now(), Kind: rendezvous.Lost, Host: "h1", Ranks: []int{1}}))
			}
		}
		began := time.Now()
		require.NoError(t, c.jobs[11].Put(t.Context(), "k", []byte("v")))
		for rank, job := range c.jobs {
			if rank != 1 {
				_, err := job.Get(t.Context(), "k")
				require.NoError(t, err)
			}
		}
		require.Less(t, time.Since(began), time.Second, "no repair is needed")
	})
}

// A world of the property: who cannot hear whom, and when each rank does what.
type story struct {
	hosts    []rendezvous.Host
	relay    bool
	blocked  map[[2]int]bool // for good
	cuts     []cut
	meet     []time.Duration   // by node
	publish  []time.Duration   // by key
	by       []int             // rank, by key
	barriers [][]time.Duration // by barrier and rank
}

// cut is a time in which two parts of the hosts do not reach each other.
type cut struct {
	begin, end time.Duration
	part       []bool // by node
}

func (s story) reaches(from, to int, now time.Duration) bool {
	for _, c := range s.cuts {
		if c.begin <= now && now < c.end && c.part[from] != c.part[to] {
			return false
		}
	}
	return from == to || !s.blocked[[2]int{from, to}]
}

func drawStory(t *rapid.T) story {
	ms := rapid.Custom(func(t *rapid.T) time.Duration {
		return time.Duration(rapid.IntRange(0, 2000).Draw(t, "ms")) * time.Millisecond
	})
	n := rapid.IntRange(2, 12).Draw(t, "hosts")
	s := story{hosts: roster(n, rapid.IntRange(1, 3).Draw(t, "ranks")), blocked: map[[2]int]bool{}}
	ranks := n * len(s.hosts[0].Ranks)
	node := rapid.IntRange(0, n-1)
	s.relay = rapid.Bool().Draw(t, "relay")
	blocked := 0
	if s.relay { // without it, parts that never meet cannot agree
		blocked = rapid.IntRange(0, 2*n).Draw(t, "blocked")
	}
	for range blocked {
		s.blocked[[2]int{node.Draw(t, "from"), node.Draw(t, "to")}] = true
	}
	for range rapid.IntRange(0, 2).Draw(t, "cuts") {
		begin := ms.Draw(t, "begin")
		s.cuts = append(s.cuts, cut{begin, begin + 3*ms.Draw(t, "length"), rapid.SliceOfN(rapid.Bool(), n, n).Draw(t, "part")})
	}
	s.meet = rapid.SliceOfN(ms, n, n).Draw(t, "meet")
	keys := rapid.IntRange(0, 5).Draw(t, "keys")
	s.publish = rapid.SliceOfN(ms, keys, keys).Draw(t, "publish")
	s.by = rapid.SliceOfN(rapid.IntRange(0, ranks-1), keys, keys).Draw(t, "by")
	for range rapid.IntRange(0, 3).Draw(t, "barriers") {
		s.barriers = append(s.barriers, rapid.SliceOfN(ms, ranks, ranks).Draw(t, "arrivals"))
	}
	return s
}

// All ranks see the same values, no barrier opens early, and every wait ends.
func TestProperties(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		s := drawStory(r)
		var errs []error
		synctest.Test(t, func(t *testing.T) { errs = s.play(t) })
		if err := errors.Join(errs...); err != nil {
			r.Fatal(err)
		}
	})
}

func (s story) play(t *testing.T) (errs []error) {
	began := time.Now()
	blocked := func(from, to int) bool { return !s.reaches(from, to, time.Since(began)) }
	c := startBlocked(t, s.hosts, blocked, func(conf *gossip.Config) {
		if !s.relay {
			conf.Relay = nil
		}
	})
	c.open(s.hosts)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()

	var mu sync.Mutex
	var all sync.WaitGroup
	try := func(after time.Duration, f func() error) {
		all.Go(func() {
			time.Sleep(after)
			if err := f(); err != nil {
				mu.Lock()
				errs = append(errs, err)
				mu.Unlock()
			}
		})
	}
	for i, node := range c.nodes {
		try(s.meet[i], func() error { return node.Meet(c.addrs...) })
	}
	for key, rank := range s.by {
		try(s.publish[key], func() error { return c.jobs[rank].Put(ctx, fmt.Sprint(key), fmt.Append(nil, key, rank)) })
	}
	for rank, job := range c.jobs {
		for key, by := range s.by {
			try(0, func() error {
				v, err := job.Get(ctx, fmt.Sprint(key))
				if err == nil && string(v) != fmt.Sprint(key, by) {
					err = fmt.Errorf("rank %d got %q for key %d of rank %d", rank, v, key, by)
				}
				return err
			})
		}
		for b, arrivals := range s.barriers {
			last := slices.Max(arrivals)
			try(arrivals[rank], func() error {
				err := job.Barrier(ctx, fmt.Sprint("b", b))
				if now := time.Since(began); err == nil && now < last {
					err = fmt.Errorf("barrier %d let rank %d go after %v, the last came after %v", b, rank, now, last)
				}
				return err
			})
		}
		try(0, func() error {
			brief, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			_, err := job.Get(brief, "nobody's")
			if _, ok := errors.AsType[*rendezvous.MissingError](err); !ok {
				return fmt.Errorf("rank %d got %v for a key that nobody publishes", rank, err)
			}
			return nil
		})
	}
	all.Wait()
	return errs
}
