//go:build linux

package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/netip"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gorun/gorun/launcher/wire"
	"github.com/gorun/gorun/rankenv"
	"github.com/gorun/gorun/rendezvous"
	"github.com/gorun/gorun/rendezvous/gossip"
	"github.com/gorun/gorun/rendezvous/pmi"
)

// services is what an agent offers its ranks: the job socket, behind it the
// member of the cluster of hosts that carries the job's values. It is the
// member as ranks see it.
type services struct {
	*gossip.Node
	agent  *agent
	socket string // path; "": no folder would hold one, ranks have their doors

	roster  []rendezvous.Host
	pmi     *pmi.Server // nil: ranks do not get PMI's variables
	pmiPort string      // where it listens; "": nowhere

	ctx    context.Context // of the servers
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu     sync.Mutex
	joined map[int]bool    // ranks that have opened the job
	asked  map[[2]int]bool // epochs, and ranks that the launcher knows to go on from them
}

// startServices joins the job's cluster and opens the job socket.
func startServices(ctx context.Context, a *agent, m *share) (*services, error) {
	s := &services{agent: a, joined: map[int]bool{}, asked: map[[2]int]bool{}}
	s.ctx, s.cancel = context.WithCancel(ctx)
	conf := &gossip.Config{
		World: rankenv.World{
			Node: m.Node, Nodes: len(m.Hosts), Host: m.Hosts[m.Node].Name, Job: m.Job, Attempt: m.Attempt, By: rankenv.Gorun,
		},
		Key:   m.Key,
		Relay: relay{a.conn},
		Log:   slog.New(notices{a.conn}),
	}
	for _, h := range m.Hosts {
		s.roster = append(s.roster, rendezvous.Host{Name: h.Name, Ranks: h.Ranks})
	}
	conf.Roster = s.roster
	if addr, err := netip.ParseAddr(m.Hosts[m.Node].Addr); err == nil {
		conf.Bind = netip.AddrPortFrom(addr, 0)
	}
	var err error
	if s.Node, err = join(s.ctx, conf, m.Ports); err != nil {
		s.cancel()
		return nil, err
	}
	if err = s.startPMI(a); err != nil {
		s.close()
		return nil, err
	}
	s.listen()
	if len(m.Hosts) > 1 {
		s.wg.Go(s.watchMembers)
	}
	return s, nil
}

// watchMembers tells the launcher of hosts that do not answer this one.
func (s *services) watchMembers() {
	for ev, err := range s.Node.Events(s.ctx, 0) {
		if err != nil {
			return
		}
		if ev.Kind != rendezvous.Suspected {
			continue
		}
		for node, h := range s.agent.start.Hosts {
			if h.Name == ev.Host {
				s.agent.conn.Send(&wire.Suspected{Node: node})
			}
		}
	}
}

// join joins the cluster, bound to one of ports.
func join(ctx context.Context, conf *gossip.Config, ports wire.PortRange) (*gossip.Node, error) {
	if ports.First == 0 || len(conf.Roster) == 1 { // a member that is alone does not listen
		return gossip.Join(ctx, conf)
	}
	count := ports.Last - ports.First + 1
	begin := rand.IntN(count)
	for i := range count {
		conf.Bind = netip.AddrPortFrom(conf.Bind.Addr(), uint16(ports.First+(begin+i)%count))
		node, err := gossip.Join(ctx, conf)
		if !errors.Is(err, syscall.EADDRINUSE) {
			return node, err
		}
	}
	return nil, fmt.Errorf("every port from %d to %d is in use at %v (--ports)", ports.First, ports.Last, conf.Bind.Addr())
}

// listen opens the job socket at a path, for programs that lose their door on
// the way to the rank.
func (s *services) listen() {
	folder, err := s.agent.folders.make(bases(), false)
	if err == nil {
		var l net.Listener
		s.socket = socketIn(folder)
		if l, err = net.Listen("unix", s.socket); err == nil {
			s.serve(l)
			return
		}
	}
	s.socket = ""
	s.agent.conn.Send(&wire.Notice{Text: "no folder can hold the job socket, so programs behind sudo or a container will not find the job: " + err.Error()})
}

// socketIn is where the job socket is in the folder of its job.
func socketIn(folder string) string { return filepath.Join(folder, "s") }

func (s *services) serve(l net.Listener) {
	s.wg.Go(func() {
		if err := rendezvous.Serve(s.ctx, l, s); err != nil {
			s.agent.conn.Send(&wire.Notice{Text: err.Error()})
		}
	})
}

// Open is what a rank's first call becomes. The launcher hears of it: a rank
// that ends without is one that others may wait for in vain.
func (s *services) Open(ctx context.Context, epoch, rank int) (ring []int, err error) {
	ring, err = s.Node.Open(ctx, epoch, rank)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil && epoch == 0 && !s.joined[rank] {
		s.joined[rank] = true
		s.agent.conn.Send(&wire.Joined{Rank: rank})
	}
	return ring, err
}

// Attend is how the agent learns that a rank's program has vanished. Programs come
// in the first epoch; the numbers of a later one would be others.
func (s *services) Attend(epoch, rank int, conn net.Conn) (left func(closed bool)) {
	if epoch != 0 {
		return func(bool) {}
	}
	s.agent.connected(rank, conn)
	return func(closed bool) { s.agent.disconnected(rank, conn, closed) }
}

// NextEpoch is how a rank goes on without those that are lost. The launcher
// begins the epoch when all that live have asked.
func (s *services) NextEpoch(ctx context.Context, after, rank int) (rankenv.World, []int, error) {
	s.mu.Lock()
	if key := [2]int{after, rank}; !s.asked[key] { // a rank may call again, as often as it likes
		s.asked[key] = true
		s.agent.conn.Send(&wire.Asked{Epoch: after, Rank: rank})
	}
	s.mu.Unlock()
	return s.Node.NextEpoch(ctx, after, rank)
}

// door returns a rank's own way to the job, a descriptor, which the caller closes
// after the fork. Nothing stands behind it until the rank knocks.
func (s *services) door(rank int) (rankEnd int, err error) {
	agentEnd, rankEnd, err := rendezvous.NewDoor()
	if err != nil {
		return -1, err
	}
	if err := s.agent.lookout.add(agentEnd, s.answer); err != nil {
		unix.Close(agentEnd)
		unix.Close(rankEnd)
		return -1, err
	}
	nameDoor(rankEnd, s.agent.folders.token, rank)
	return rankEnd, nil
}

// answer is called when somebody knocks at a door, or nobody can any more.
func (s *services) answer(agentEnd int, _, hungUp bool) {
	if hungUp {
		unix.Close(agentEnd)
		return
	}
	if l, err := rendezvous.ListenAtDoor(agentEnd); err == nil { // else the rank sees it closed, and tries the path
		s.serve(l)
	}
}

// path is the path of the job socket.
func (s *services) path() string { return s.socket }

// address is where the other hosts' members reach this one; "" if there are
// none.
func (s *services) address() string {
	if addr := s.Node.Addr(); addr.IsValid() {
		return addr.String()
	}
	return ""
}

// errNoServices refuses what makes sense only after Start.
var errNoServices = errors.New("the launcher sent a message about the cluster before Start")

// meet tells the member where the others are.
func (s *services) meet(addrs []string) error {
	if s == nil {
		return errNoServices
	}
	members := make([]netip.AddrPort, len(addrs)) // by node; not valid: the host was lost
	for node, a := range addrs {
		if a == "" {
			continue
		}
		var err error
		if members[node], err = netip.ParseAddrPort(a); err != nil {
			return err
		}
	}
	return s.Node.Meet(members...)
}

// deliver hands on what another host's member sent through the launcher. A
// malformed message is that member's fault, not a reason to end the job.
func (s *services) deliver(m *wire.Relay) error {
	if s == nil {
		return errNoServices
	}
	if err := s.Node.Deliver(m.Node, m.Payload); err != nil {
		s.agent.conn.Send(&wire.Notice{Text: err.Error()})
	}
	return nil
}

// report tells the ranks what the launcher has decided.
func (s *services) report(m *wire.Report) error {
	if s == nil {
		return errNoServices
	}
	return s.Node.Report(rendezvous.Event{
		Time: time.Unix(0, m.Clock), Kind: rendezvous.Kind(m.Kind), Epoch: m.Epoch, Host: m.Host, Cause: m.Cause, Ranks: m.Ranks,
	})
}

func (s *services) close() {
	s.cancel()
	s.wg.Wait()
	if s.pmi != nil {
		s.pmi.Close()
	}
	s.Node.Close()
}

// relay carries the member's messages through the launcher.
type relay struct{ conn *wire.Conn }

func (r relay) Send(_ context.Context, node int, message []byte) error {
	return r.conn.Send(&wire.Relay{Node: node, Payload: message})
}
