package gossip_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/gorun/gorun/rankenv"
	"github.com/gorun/gorun/rendezvous"
	"github.com/gorun/gorun/rendezvous/gossip"
)

// roster has n hosts h0, h1 … of so many ranks each.
func roster(n, ranks int) []rendezvous.Host {
	hosts := make([]rendezvous.Host, n)
	for i := range hosts {
		hosts[i].Name = fmt.Sprint("h", i)
		for range ranks {
			hosts[i].Ranks = append(hosts[i].Ranks, len(hosts[i].Ranks)+i*ranks)
		}
	}
	return hosts
}

// star is the launcher of a test: it carries messages between all nodes.
type star struct {
	mu    sync.Mutex
	nodes []*gossip.Node
	sent  int
	bytes atomic.Int64
}

type spoke struct {
	*star
	from int
}

func (s spoke) Send(ctx context.Context, to int, message []byte) error {
	s.bytes.Add(int64(len(message)))
	s.mu.Lock()
	s.sent++
	var node *gossip.Node
	if len(s.nodes) > to {
		node = s.nodes[to]
	}
	s.mu.Unlock()
	if node == nil {
		return errors.New("no such agent yet")
	}
	return node.Deliver(s.from, bytes.Clone(message))
}

// cluster is the members of a job on loopback.
type cluster struct {
	nodes []*gossip.Node
	jobs  []*rendezvous.Job // by rank
	addrs []netip.AddrPort
	star  *star
}

// start makes the members; meet is still to be called. change alters the
// configuration of each.
func start(t testing.TB, hosts []rendezvous.Host, change func(node int, conf *gossip.Config)) *cluster {
	c := &cluster{star: &star{}}
	key := make([]byte, 32)
	rand.Read(key)
	t.Cleanup(c.close)
	for i := range hosts {
		conf := &gossip.Config{
			World:  rankenv.World{Node: i, Nodes: len(hosts), Job: "job"},
			Roster: hosts,
			Bind:   netip.MustParseAddrPort("127.0.0.1:0"),
			Key:    key,
			Relay:  spoke{c.star, i},
		}
		if change != nil {
			change(i, conf)
		}
		node, err := gossip.Join(t.Context(), conf)
		require.NoError(t, err)
		c.nodes = append(c.nodes, node)
		c.addrs = append(c.addrs, node.Addr())
		c.star.mu.Lock()
		c.star.nodes = append(c.star.nodes, node)
		c.star.mu.Unlock()
	}
	return c
}

func (c *cluster) close() {
	var all sync.WaitGroup
	for _, node := range c.nodes {
		all.Go(func() { node.Close() })
	}
	all.Wait()
}

func (c *cluster) meet(t testing.TB) {
	for _, node := range c.nodes {
		require.NoError(t, node.Meet(c.addrs...))
	}
}

// open opens the Jobs of all ranks.
func (c *cluster) open(hosts []rendezvous.Host) {
	size := 0
	for _, host := range hosts {
		size += len(host.Ranks)
	}
	c.jobs = make([]*rendezvous.Job, size)
	for i, host := range hosts {
		for _, rank := range host.Ranks {
			c.jobs[rank] = rendezvous.New(c.nodes[i], rankenv.World{Rank: rank, Size: size, Host: host.Name})
		}
	}
}

func (c *cluster) whole(t testing.TB) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for _, node := range c.nodes {
		require.NoError(t, node.Whole(ctx))
	}
}

// eachRank runs f for every rank at once.
func (c *cluster) eachRank(t testing.TB, f func(ctx context.Context, job *rendezvous.Job) error) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	var all errgroup.Group
	for _, job := range c.jobs {
		all.Go(func() error { return f(ctx, job) })
	}
	require.NoError(t, all.Wait())
}

// talk publishes a value, exchanges, and goes through a barrier and the ring.
func talk(ctx context.Context, job *rendezvous.Job) error {
	if job.Rank() == job.Size()-1 {
		if err := job.Put(ctx, "id", []byte("secret")); err != nil {
			return err
		}
	}
	id, err := job.Get(ctx, "id")
	if err != nil || string(id) != "secret" {
		return fmt.Errorf("id %q: %w", id, err)
	}
	values, err := job.Exchange(ctx, "x", fmt.Append(nil, job.Rank()))
	if err != nil {
		return err
	}
	for rank, v := range values {
		if string(v) != fmt.Sprint(rank) {
			return fmt.Errorf("rank %d gave %q", rank, v)
		}
	}
	if err := job.Barrier(ctx, "b"); err != nil {
		return err
	}
	_, order, err := job.Ring(ctx, "somewhere")
	if err == nil && !slices.IsSorted(order) {
		err = fmt.Errorf("order %v", order)
	}
	return err
}

func TestWaysOfValues(t *testing.T) {
	for _, tc := range []struct {
		name        string
		hosts       int
		relay, meet bool
	}{
		{"one host", 1, false, false},
		{"gossip", 3, false, true},
		{"relay", 3, true, false},
		{"both", 3, true, true},
		{"two levels", 11, false, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			hosts := roster(tc.hosts, 2)
			c := start(t, hosts, func(_ int, conf *gossip.Config) {
				if !tc.relay {
					conf.Relay = nil
				}
			})
			c.open(hosts)
			if tc.meet {
				c.meet(t)
			}
			c.eachRank(t, talk)
			if tc.meet || tc.hosts == 1 {
				c.whole(t)
				require.Len(t, c.nodes[0].Members(), tc.hosts)
			}
		})
	}
}

func TestOneHostBindsNothing(t *testing.T) {
	node, err := gossip.Join(t.Context(), &gossip.Config{Roster: roster(1, 4)})
	require.NoError(t, err)
	require.False(t, node.Addr().IsValid())
	require.NoError(t, node.Meet())
	require.NoError(t, node.Whole(t.Context()))
	require.Equal(t, []gossip.Member{{Node: 0, Host: "h0"}}, node.Members())
	require.Error(t, node.Deliver(1, nil))
	require.NoError(t, node.Close())
	require.ErrorIs(t, node.Put(t.Context(), 0, "k", nil), rendezvous.ErrClosed)
}

// Without a launcher members know one address to begin with.
func TestSeeds(t *testing.T) {
	hosts := roster(3, 1)
	port := freePort(t)
	c := start(t, hosts, func(node int, conf *gossip.Config) {
		conf.Relay = nil
		conf.Seeds = []string{fmt.Sprintf("127.0.0.1:%d", port)}
		conf.Bind = netip.AddrPort{}
		if node == 0 {
			conf.Bind = netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), port)
		}
	})
	c.open(hosts)
	c.eachRank(t, talk)
	c.whole(t)
}

// freePort returns a port that was free for TCP a moment ago, and that no
// outgoing connection takes: it is not of those that the kernel gives away.
func freePort(t *testing.T) uint16 {
	for {
		port := uint16(10000 + mathrand.IntN(20000))
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		require.NoError(t, err)
		require.NoError(t, l.Close())
		return port
	}
}

func TestConfigIsChecked(t *testing.T) {
	good := func() *gossip.Config {
		return &gossip.Config{Roster: roster(2, 1), Bind: netip.MustParseAddrPort("127.0.0.1:0"), Key: make([]byte, 32)}
	}
	for want, spoil := range map[string]func(*gossip.Config){
		"Roster has 0 hosts":       func(c *gossip.Config) { c.Roster = nil },
		"World.Node is 2":          func(c *gossip.Config) { c.World.Node = 2 },
		"Roster[1].Name":           func(c *gossip.Config) { c.Roster[1].Name = "h0" },
		"Roster[1] has no ranks":   func(c *gossip.Config) { c.Roster[1].Ranks = nil },
		"the plan has rank 0":      func(c *gossip.Config) { c.Roster[1].Ranks = []int{0} },
		"Key has 16 bytes":         func(c *gossip.Config) { c.Key = c.Key[:16] },
		"Bind is not set":          func(c *gossip.Config) { c.Bind = netip.AddrPort{} },
		"Advertise must say":       func(c *gossip.Config) { c.Bind = netip.MustParseAddrPort("0.0.0.0:0") },
		"want host:port,":          func(c *gossip.Config) { c.Seeds = []string{"host"} },
		"the port a number":        func(c *gossip.Config) { c.Seeds = []string{"host:gorun"} },
		"cannot assign":            func(c *gossip.Config) { c.Bind = netip.MustParseAddrPort("192.0.2.1:0") },
		"World.Job has 1000 bytes": func(c *gossip.Config) { c.World.Job = string(make([]byte, 1000)) },
	} {
		conf := good()
		spoil(conf)
		_, err := gossip.Join(t.Context(), conf)
		require.ErrorContains(t, err, want)
	}
}

func TestMissingAreNamed(t *testing.T) {
	hosts := roster(2, 3)
	c := start(t, hosts, nil)
	c.meet(t)
	w := func(rank int) rankenv.World { return rankenv.World{Rank: rank, Size: 6} }
	zero := rendezvous.New(c.nodes[0], w(0))
	four := rendezvous.New(c.nodes[1], w(4))

	// Of host h1, rank 4 has come: the others are told after a while, so that
	// only those are named that have not.
	late, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- four.Barrier(late, "b") }()
	require.Eventually(t, func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		missing, ok := errors.AsType[*rendezvous.MissingError](zero.Barrier(ctx, "b"))
		return ok && slices.Equal(missing.Ranks, []int{1, 2, 3, 5}) && slices.Equal(missing.Hosts, []string{"h0", "h1"})
	}, 10*time.Second, time.Millisecond)
	require.Eventually(t, func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, err := zero.Get(ctx, "k")
		missing, ok := errors.AsType[*rendezvous.MissingError](err)
		return ok && slices.Equal(missing.Ranks, []int{1, 2, 3, 5})
	}, 10*time.Second, time.Millisecond)
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
}

func TestVerdictReachesAll(t *testing.T) {
	hosts := roster(3, 2)
	c := start(t, hosts, nil)
	c.open(hosts)
	c.meet(t)
	verdict := rendezvous.Event{Time: time.Now(), Kind: rendezvous.Lost, Host: "h2", Ranks: []int{4, 5}, Cause: "stream closed"}
	require.NoError(t, c.nodes[1].Report(verdict))
	require.NoError(t, c.nodes[0].Report(verdict), "by another member too")
	c.jobs = c.jobs[:4] // those that live
	c.eachRank(t, func(ctx context.Context, job *rendezvous.Job) error {
		ranks, err := job.Lost(ctx)
		if err == nil && !slices.Equal(ranks, []int{4, 5}) {
			err = fmt.Errorf("lost %v", ranks)
		}
		return err
	})
	for ev, err := range c.jobs[0].Events(t.Context()) {
		require.NoError(t, err)
		if ev.Kind == rendezvous.Lost {
			require.Equal(t, "lost: ranks 4-5 on h2: stream closed", ev.String())
			break
		}
	}
}

func TestSilentHostIsSuspectedOnly(t *testing.T) {
	hosts := roster(3, 1)
	c := start(t, hosts, nil)
	c.open(hosts)
	c.meet(t)
	c.whole(t)
	gossip.Silence(c.nodes[2])
	for ev, err := range c.jobs[0].Events(t.Context()) {
		require.NoError(t, err)
		require.NotEqual(t, rendezvous.Lost, ev.Kind)
		if ev.Kind == rendezvous.Suspected {
			require.Equal(t, "suspected: rank 2 on h2: does not answer gossip", ev.String())
			break
		}
	}
	require.Contains(t, c.nodes[0].Members(), gossip.Member{Node: 2, Host: "h2", Addr: c.addrs[2], Suspect: true})
}

func TestLeavingIsNotSuspicious(t *testing.T) {
	hosts := roster(3, 1)
	c := start(t, hosts, nil)
	c.open(hosts)
	c.meet(t)
	c.whole(t)
	require.NoError(t, c.nodes[2].Close())
	for ev, err := range c.jobs[0].Events(t.Context()) {
		require.NoError(t, err)
		require.NotEqual(t, rendezvous.Suspected, ev.Kind)
		if ev.Kind == rendezvous.Left {
			break
		}
	}
	require.Len(t, c.nodes[0].Members(), 2)
}

func TestCloseEndsWaits(t *testing.T) {
	hosts := roster(2, 1)
	c := start(t, hosts, nil)
	c.open(hosts)
	ended := make(chan error, 5)
	ctx := t.Context()
	node, job := c.nodes[0], c.jobs[0]
	go func() { _, err := job.Get(ctx, "k"); ended <- err }()
	go func() { ended <- job.Barrier(ctx, "b") }()
	go func() { _, err := job.Lost(ctx); ended <- err }()
	go func() { ended <- node.Whole(ctx) }()
	go func() {
		for _, err := range job.Events(ctx) {
			if err != nil {
				ended <- err
			}
		}
	}()
	require.NoError(t, node.Close())
	require.NoError(t, node.Close())
	for range cap(ended) {
		require.ErrorIs(t, <-ended, rendezvous.ErrClosed)
	}
}

// Two hosts that publish under one key at the same moment do not know of each
// other; afterwards all do, and it is loud.
func TestConflictIsFoundOut(t *testing.T) {
	hosts := roster(3, 1)
	c := start(t, hosts, func(_ int, conf *gossip.Config) { conf.Relay = nil })
	c.open(hosts)
	ctx := t.Context()
	require.NoError(t, c.jobs[1].Put(ctx, "k", []byte("one")))
	require.NoError(t, c.jobs[2].Put(ctx, "k", []byte("two")))
	require.NoError(t, c.jobs[1].Abort(ctx, "world", "one"))
	require.NoError(t, c.jobs[2].Abort(ctx, "world", "two"))
	c.meet(t)
	for _, job := range c.jobs {
		require.Eventually(t, func() bool {
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			_, err := job.Get(ctx, "k")
			return errors.Is(err, rendezvous.ErrExists)
		}, 10*time.Second, time.Millisecond)
		_, reason, err := job.Aborted(ctx, "world")
		require.NoError(t, err, "several ranks may abort")
		require.Contains(t, []string{"one", "two"}, reason)
	}
}

func TestRanksOfOtherHostsAreRefused(t *testing.T) {
	hosts := roster(2, 1)
	c := start(t, hosts, nil)
	_, err := c.nodes[0].Open(t.Context(), 0, 1)
	require.ErrorContains(t, err, "rank 1 is not on h0")
	_, err = c.nodes[0].Exchange(t.Context(), 0, 1, "x", nil)
	require.ErrorContains(t, err, "rank 1 is not on h0")
}

// syncBuffer is a log that is read while it is written.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(b)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func warnings(s *syncBuffer) *slog.Logger {
	return slog.New(slog.NewTextHandler(s, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

func TestOtherKeyOrPlanDoesNotJoin(t *testing.T) {
	for name, change := range map[string]func(*gossip.Config){
		"key":  func(c *gossip.Config) { c.Key = make([]byte, 32) },
		"plan": func(c *gossip.Config) { c.Roster = roster(2, 2) },
		"job":  func(c *gossip.Config) { c.World.Job = "other" },
	} {
		t.Run(name, func(t *testing.T) {
			c := start(t, roster(2, 1), func(node int, conf *gossip.Config) {
				if node == 1 {
					change(conf)
				}
			})
			c.meet(t)
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			err := c.nodes[0].Whole(ctx)
			require.EqualError(t, err, "rendezvous: roster: rank 1 on h1 missing: context deadline exceeded")
		})
	}
}
