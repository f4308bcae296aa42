package gossip

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/gorun/gorun/rendezvous"
	"github.com/gorun/gorun/rendezvous/internal/codec"
)

// How a node works. Ranks' calls (backend.go) act on known, a rendezvous.Memory,
// which does the waiting. What they bring is published: entered into the ledger,
// which the edges (edge.go) follow to the neighbours. What comes from those
// (receive.go) is claimed, so that it acts once, applied to known, and entered,
// so that the edges pass it on; arrivals are held for a while first (gather.go).
//
// n.mu is held briefly, never while waiting or while memberlist is called, which
// calls back with its own lock held. The ledger's and known's locks are taken
// after it, if both are.
//
// Goroutines: two for each edge, one that joins (join.go), one that repairs,
// and the timers of gather.go; Close ends n.ctx and waits for them. Memberlist
// has its own; Close shuts it down afterwards.

// Node is one member of the cluster, and the Backend of its host's ranks.
type Node struct {
	conf  Config
	self  int
	log   *slog.Logger
	plan  digest // of job and roster, the same at all members
	known *rendezvous.Memory

	ctx      context.Context // ends at Close
	end      context.CancelFunc
	closing  sync.Once
	drain    chan struct{}  // closed when Close begins
	couriers sync.WaitGroup // the goroutines of edges
	workers  sync.WaitGroup // all others

	// Of a job on several hosts only.
	ledger *ledger
	net    network
	list   *memberlist.Memberlist
	addr   netip.AddrPort
	names  []string       // memberlist's, by node
	byName map[string]int // and back
	broken chan int       // nodes whose records differ from ours

	mu         sync.Mutex
	epoch      int
	roster     []rendezvous.Host // by node, of the epoch
	ranks      int               // of the epoch
	waiting    backlog           // for the epoch that has not begun here
	members    []member          // by node
	changed    chan struct{}
	joining    bool
	leaving    bool
	lost       map[int]bool // ranks
	edges      map[int]*edge
	heard      map[int]bool // nodes of which a direct message has come
	warned     map[int]bool // nodes of which unheard has been said
	parent     int          // of this node in the tree; -1: it is the root
	below      map[int]bool // ranks at and below this node in the tree
	gatherings map[string]*gathering
	fetches    map[ask]*fetch        // for which this host waits
	askers     map[ask]map[int]asker // who waits for what a rank here does not offer yet
}

var _ rendezvous.Backend = (*Node)(nil)

// Join makes a member: it binds it and returns. The caller closes it. Joining
// the others goes on in the background, from Seeds if there are any, else once
// [Node.Meet] has told where they are; until then values flow through the Relay.
// A job on one host binds nothing. Join waits for nobody, but for the name of the
// first seed to be known if that tells which address to bind.
func Join(ctx context.Context, conf *Config) (*Node, error) {
	return join(ctx, conf, listen)
}

func join(ctx context.Context, conf *Config, listen func(netip.AddrPort) (network, error)) (*Node, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	conf = conf.planned()
	if err := conf.validate(); err != nil {
		return nil, err
	}
	known, err := rendezvous.NewMemory(conf.Roster)
	if err != nil {
		return nil, err
	}
	n := &Node{conf: *conf, self: conf.World.Node, known: known, log: conf.Log}
	n.conf.Roster = slices.Clone(conf.Roster)
	for i, host := range n.conf.Roster {
		n.conf.Roster[i].Ranks = slices.Clone(host.Ranks)
	}
	n.ctx, n.end = context.WithCancel(context.Background())
	n.roster = n.conf.Roster
	if len(conf.Roster) == 1 {
		return n, nil
	}
	if n.log == nil {
		n.log = slog.New(slog.DiscardHandler)
	}
	n.plan = planDigest(conf)
	n.drain = make(chan struct{})
	n.ledger = newLedger()
	n.broken = make(chan int, len(conf.Roster))
	n.names = make([]string, len(conf.Roster))
	n.byName = make(map[string]int, len(conf.Roster))
	for node := range conf.Roster {
		n.names[node] = conf.name(node)
		n.byName[n.names[node]] = node
	}
	n.members = make([]member, len(conf.Roster))
	n.changed = make(chan struct{})
	n.lost = map[int]bool{}
	n.edges = map[int]*edge{}
	n.heard = map[int]bool{}
	n.warned = map[int]bool{}
	n.gatherings = map[string]*gathering{}
	n.fetches = map[ask]*fetch{}
	n.askers = map[ask]map[int]asker{}

	if err := n.start(ctx, listen); err != nil {
		n.end()
		return nil, err
	}
	return n, nil
}

// start binds a member of several.
func (n *Node) start(ctx context.Context, listen func(netip.AddrPort) (network, error)) error {
	bind, err := n.conf.bind(ctx, n.log)
	if err != nil {
		return err
	}
	if n.net, err = listen(bind); err != nil {
		return err
	}
	n.addr = n.net.Bound()
	if n.conf.Advertise.Addr().IsValid() {
		n.addr = n.conf.Advertise
		if n.addr.Port() == 0 {
			n.addr = netip.AddrPortFrom(n.addr.Addr(), n.net.Bound().Port())
		}
	}
	if n.list, err = memberlist.Create(n.memberlistConfig()); err != nil {
		n.net.Shutdown()
		return fmt.Errorf("gossip: %w", err)
	}
	n.workers.Go(n.repair)
	n.mu.Lock()
	n.rewire()
	n.mu.Unlock()
	if len(n.conf.Seeds) > 0 {
		n.net.Admit(nil)
		n.startJoining(n.conf.Seeds)
	}
	return nil
}

// planDigest is what members compare before they have anything to do with each
// other.
func planDigest(conf *Config) digest {
	c := codec.Writer(nil)
	job := conf.World.Job
	c.String(&job, maxJobName)
	c.Int(&conf.World.Attempt, 1<<31-1)
	for _, host := range conf.Roster {
		c.String(&host.Name, maxHostName)
		codec.List(c, &host.Ranks, rendezvous.MaxRanks, 4, func(r *int) { c.Int(r, rendezvous.MaxRanks-1) })
	}
	b, _ := c.Written() // validate has been here
	sum := sha256.Sum256(b)
	return digest(sum[:16])
}

// Addr returns where the other members reach this one. It is not valid for a
// job on one host.
func (n *Node) Addr() netip.AddrPort { return n.addr }

const (
	// drainTimeout is how long Close lets the edges send what there is. It is
	// reached where hosts end at the same moment and no one is left to hear it.
	drainTimeout = 50 * time.Millisecond
	// loneDrainTimeout is the same where no launcher keeps members until all ranks
	// have ended: who passes the last barrier leaves, and others may have to hear
	// from it that they may pass too.
	loneDrainTimeout = 2 * time.Second
	// leaveTimeout is how long Close waits for memberlist to say that this
	// member leaves: two rounds of gossip.
	leaveTimeout = 2 * gossipInterval
)

// Close leaves the cluster, ends blocked calls with ErrClosed and waits for the
// Node's goroutines. What was published before still goes out, if that works at
// once. Close takes a fraction of a second, without a launcher at most two seconds
// longer, and may be repeated.
func (n *Node) Close() error {
	n.closing.Do(func() {
		defer n.end()
		if n.list != nil {
			n.leave()
		}
	})
	return nil
}

func (n *Node) leave() {
	if err := n.publish(0, &leaving{n.self}); err != nil {
		n.log.Warn("leave", "error", err)
	}
	n.mu.Lock()
	n.leaving = true
	for _, g := range n.gatherings {
		n.stopTimer(g)
	}
	n.mu.Unlock()
	close(n.drain)
	drained := make(chan struct{})
	go func() {
		n.couriers.Wait()
		close(drained)
	}()
	timeout := drainTimeout
	if n.conf.unplanned {
		timeout = loneDrainTimeout
	}
	await(n.ctx, drained, time.After(timeout))
	n.end()
	n.net.HangUp()
	<-drained
	n.workers.Wait()
	// Leave first and once: after Shutdown it panics.
	if err := n.list.Leave(leaveTimeout); err != nil {
		n.log.Debug("leave", "error", err)
	}
	if err := n.list.Shutdown(); err != nil {
		n.log.Debug("shutdown", "error", err)
	}
}
