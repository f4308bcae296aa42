package gossip

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/gorun/gorun/rendezvous"
	"github.com/gorun/gorun/rendezvous/internal/codec"
)

// How a node works. Ranks' calls act on known, a rendezvous.Memory, which does
// the waiting. What they bring is published: entered into the ledger, which the
// edges (edge.go) follow to the neighbours. What comes from those, in receive,
// is claimed, so that it acts once, applied to known, and entered, so that the
// edges pass it on. n.mu is held briefly, never while waiting, and never taken
// while the ledger's or known's lock is held.
//
// Goroutines: two for each edge, one that joins (member.go), one that repairs,
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
	members    []member // by node
	changed    chan struct{}
	joining    bool
	leaving    bool
	lost       map[int]bool // ranks
	edges      map[int]*edge
	heard      map[int]bool // nodes of which a direct message has come
	warned     map[int]bool // nodes of which unheard has been said
	opened     map[int]bool // ranks of this host
	below      map[int]bool // ranks at and below this node in the tree
	gatherings map[string]*gathering
}

var _ rendezvous.Backend = (*Node)(nil)

// Join makes a member: it binds it and returns. The caller closes it. Joining
// the others goes on in the background, from Seeds if there are any, else once
// [Node.Meet] has told where they are; until then values flow through the Relay.
// A job on one host binds nothing.
func Join(ctx context.Context, conf *Config) (*Node, error) {
	return join(ctx, conf, listen)
}

func join(ctx context.Context, conf *Config, listen func(netip.AddrPort) (network, error)) (*Node, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := conf.validate(); err != nil {
		return nil, err
	}
	known, err := rendezvous.NewMemory(conf.Roster)
	if err != nil {
		return nil, err
	}
	n := &Node{conf: *conf, self: conf.World.Node, known: known, log: conf.Log}
	n.ctx, n.end = context.WithCancel(context.Background())
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
	n.opened = map[int]bool{}
	n.gatherings = map[string]*gathering{}

	bind, err := conf.bind()
	if err != nil {
		return nil, err
	}
	if n.net, err = listen(bind); err != nil {
		return nil, err
	}
	n.addr = n.net.Bound()
	if conf.Advertise.Addr().IsValid() {
		n.addr = conf.Advertise
		if n.addr.Port() == 0 {
			n.addr = netip.AddrPortFrom(n.addr.Addr(), n.net.Bound().Port())
		}
	}
	if n.list, err = memberlist.Create(n.memberlistConfig()); err != nil {
		n.net.Shutdown()
		return nil, fmt.Errorf("gossip: %w", err)
	}
	n.workers.Go(n.repair)
	n.mu.Lock()
	n.rewire()
	n.mu.Unlock()
	if len(conf.Seeds) > 0 {
		n.net.Admit(nil)
		n.startJoining(conf.Seeds)
	}
	return n, nil
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

// bind returns a context that ends with ctx and with the Node.
func (n *Node) bind(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(n.ctx, cancel)
	return ctx, func() { stop(); cancel() }
}

// closed returns ErrClosed instead of err once the Node is closed.
func (n *Node) closed(err error) error {
	if n.ctx.Err() != nil {
		return rendezvous.ErrClosed
	}
	return err
}

// check refuses ranks of other hosts, which have an agent of their own.
func (n *Node) check(rank int) error {
	for _, own := range n.conf.Roster[n.self].Ranks {
		if own == rank {
			return n.closed(nil)
		}
	}
	return fmt.Errorf("gossip: rank %d is not on %s", rank, n.conf.Roster[n.self].Name)
}

// Open implements [rendezvous.Backend] for ranks of this host. It does not
// block.
func (n *Node) Open(ctx context.Context, epoch, rank int) ([]int, error) {
	if err := n.check(rank); err != nil {
		return nil, err
	}
	ring, err := n.known.Open(ctx, epoch, rank)
	if err != nil || n.list == nil {
		return ring, err
	}
	n.mu.Lock()
	again := n.opened[rank]
	n.opened[rank] = true
	n.mu.Unlock()
	if !again {
		n.gather(openName, arrival{rank: rank})
	}
	return ring, nil
}

// Put implements [rendezvous.Backend]. It does not block: the other members
// learn the value in the background.
func (n *Node) Put(ctx context.Context, epoch int, key string, v []byte) error {
	if err := n.closed(nil); err != nil {
		return err
	}
	if err := n.known.Put(ctx, epoch, key, v); err != nil || n.list == nil {
		return err
	}
	return n.publish(&value{key, v})
}

// Get implements [rendezvous.Backend].
func (n *Node) Get(ctx context.Context, epoch int, key string) ([]byte, error) {
	ctx, release := n.bind(ctx)
	defer release()
	v, err := n.known.Get(ctx, epoch, key)
	if err != nil {
		return nil, n.closed(err)
	}
	return v, nil
}

// Exchange implements [rendezvous.Backend] for ranks of this host.
func (n *Node) Exchange(ctx context.Context, epoch, rank int, name string, v []byte) ([][]byte, error) {
	if err := n.check(rank); err != nil {
		return nil, err
	}
	news, err := n.known.Arrive(epoch, rank, name, v)
	if err != nil {
		return nil, err
	}
	if news && n.list != nil {
		n.gather(name, arrival{rank, v})
	}
	ctx, release := n.bind(ctx)
	defer release()
	values, err := n.known.Await(ctx, epoch, rank, name)
	if err != nil {
		return nil, n.closed(err)
	}
	return values, nil
}

// Lost implements [rendezvous.Backend].
func (n *Node) Lost(ctx context.Context, epoch int) ([]int, error) {
	ctx, release := n.bind(ctx)
	defer release()
	ranks, err := n.known.Lost(ctx, epoch)
	if err != nil {
		return nil, n.closed(err)
	}
	return ranks, nil
}

// Events implements [rendezvous.Backend].
func (n *Node) Events(ctx context.Context, epoch int) iter.Seq2[rendezvous.Event, error] {
	return func(yield func(rendezvous.Event, error) bool) {
		ctx, release := n.bind(ctx)
		defer release()
		for ev, err := range n.known.Events(ctx, epoch) {
			if err != nil {
				err = n.closed(err)
			}
			if !yield(ev, err) {
				return
			}
		}
	}
}

// Report tells the ranks of all hosts of an event, such as the launcher's
// verdict that ranks are Lost. The same event, with the same Time, may be
// reported at several members, so that it gets through if one of them does not.
func (n *Node) Report(ev rendezvous.Event) error {
	if err := n.closed(nil); err != nil {
		return err
	}
	if n.list == nil {
		return n.known.Report(ev)
	}
	if ev.Time.IsZero() {
		ev.Time = time.Now()
	}
	form, err := ev.AppendBinary(nil)
	if err != nil {
		return fmt.Errorf("gossip: event cannot be passed on: %w", err)
	}
	b, err := write(&event{form})
	if err != nil {
		return fmt.Errorf("gossip: %w", err)
	}
	if !n.ledger.claim(b) {
		return nil
	}
	if err := n.happened(ev); err != nil {
		return err
	}
	n.ledger.enter(entry{b, n.self})
	return nil
}

// happened lets an event act at this member.
func (n *Node) happened(ev rendezvous.Event) error {
	if err := n.known.Report(ev); err != nil {
		return err
	}
	if ev.Kind != rendezvous.Lost {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, rank := range ev.Ranks {
		n.lost[rank] = true
	}
	n.rewire()
	return nil
}

// publish enters a record of this member.
func (n *Node) publish(r record) error {
	b, err := write(r)
	if err != nil {
		return fmt.Errorf("gossip: %w", err)
	}
	if n.ledger.claim(b) {
		n.ledger.enter(entry{b, n.self})
	}
	return nil
}

// envelope returns the message with records for a node.
func (n *Node) envelope(to int, records [][]byte) ([]byte, error) {
	n.mu.Lock()
	heard := n.heard[to]
	n.mu.Unlock()
	c := codec.Writer(nil)
	(&message{from: n.self, heard: heard, records: records}).fields(c)
	return c.Written()
}

// Deliver takes a message that the Relay of the member of node from sent to this
// one. It does not block and does not keep message.
func (n *Node) Deliver(from int, message []byte) error {
	if err := n.closed(nil); err != nil {
		return err
	}
	if n.list == nil {
		return fmt.Errorf("gossip: message from node %d, but the job has one host", from)
	}
	return n.receive(from, message, false)
}

// receive lets the records of a message act that have not yet, and passes them
// on. from is -1 if only the message says whose it is.
func (n *Node) receive(from int, b []byte, direct bool) error {
	if len(b) > MaxMessage {
		return fmt.Errorf("gossip: message has %d bytes, at most %d are allowed", len(b), MaxMessage)
	}
	var m message
	c := codec.Reader(b)
	m.fields(c)
	if err := c.End(); err != nil {
		return fmt.Errorf("gossip: malformed message: %w", err)
	}
	if m.epoch != 0 {
		return fmt.Errorf("gossip: message of epoch %d: %w", m.epoch, rendezvous.ErrStale)
	}
	if m.from >= len(n.conf.Roster) || m.from == n.self || from >= 0 && m.from != from {
		return fmt.Errorf("gossip: message of node %d came to node %d from node %d", m.from, n.self, from)
	}
	n.mu.Lock()
	if direct {
		n.heard[m.from] = true
	}
	e := n.edges[m.from]
	n.mu.Unlock()
	if e != nil && m.heard {
		e.set(func() { e.works = true })
	}
	var errs []error
	for _, b := range m.records {
		r, err := read(b)
		if err != nil {
			errs = append(errs, fmt.Errorf("gossip: malformed record of node %d: %w", m.from, err))
			continue
		}
		if !n.ledger.claim(b) {
			continue
		}
		if err := n.apply(r); err != nil {
			errs = append(errs, fmt.Errorf("gossip: record of node %d: %w", m.from, err))
			continue
		}
		e := entry{bytes.Clone(b), m.from}
		if r, ok := r.(*arrivals); ok {
			n.forward(r, e.record, e.from)
		} else {
			n.ledger.enter(e)
		}
	}
	return errors.Join(errs...)
}

// apply lets a record of another member act at this one.
func (n *Node) apply(r record) error {
	switch r := r.(type) {
	case *value:
		err := n.known.Put(n.ctx, 0, r.key, r.value)
		if errors.Is(err, rendezvous.ErrExists) {
			// Two hosts published at the same time. All members find out, since
			// all records reach all. Of a notice each keeps the first, see Backend.
			if !strings.HasPrefix(r.key, "\x00") {
				n.known.Dispute(r.key)
			}
			return nil
		}
		return err
	case *arrivals:
		for _, a := range r.came {
			var err error
			if r.name == openName {
				_, err = n.known.Open(n.ctx, 0, a.rank)
			} else {
				_, err = n.known.Arrive(0, a.rank, r.name, a.value)
			}
			if err != nil {
				return err
			}
		}
		return nil
	case *event:
		var ev rendezvous.Event
		if err := ev.UnmarshalBinary(r.form); err != nil {
			return err
		}
		return n.happened(ev)
	case *leaving:
		if r.node < len(n.conf.Roster) && r.node != n.self {
			n.become(r.node, left, rendezvous.Left, func(*member) {})
		}
		return nil
	case *unheard:
		if r.to == n.self && r.from > n.self && r.from < len(n.conf.Roster) {
			n.warn(r.from, r.why)
		}
		return nil
	}
	return fmt.Errorf("unknown record %T", r)
}

// repair sends everything to members whose records differ from ours.
func (n *Node) repair() {
	for {
		select {
		case <-n.ctx.Done():
			return
		case node := <-n.broken:
			to, _ := n.address(node)
			for cursor := 0; to != nil; {
				records, next, _ := n.ledger.after(cursor, node)
				if len(records) == 0 {
					break
				}
				if err := n.send(to, node, records); err != nil {
					n.log.Debug("repair failed", "host", n.conf.Roster[node].Name, "error", err)
					break
				}
				cursor = next
			}
		}
	}
}

const (
	// drainTimeout is how long Close lets the edges send what there is. It is
	// reached where hosts end at the same moment and no one is left to hear it.
	drainTimeout = 50 * time.Millisecond
	// leaveTimeout is how long Close waits for memberlist to say that this
	// member leaves: two rounds of gossip.
	leaveTimeout = 2 * gossipInterval
)

// Close leaves the cluster, ends blocked calls with ErrClosed and waits for the
// Node's goroutines. What was published before still goes out, if that works at
// once. Close takes a fraction of a second and may be repeated.
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
	if err := n.publish(&leaving{n.self}); err != nil {
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
	await(n.ctx, drained, time.After(drainTimeout))
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
