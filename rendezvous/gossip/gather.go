package gossip

import (
	"encoding/binary"
	"slices"
	"time"
)

// Arrivals climb the tree in one wave: a member holds those of its own ranks and
// of the hosts below it until all have come, and then passes them on together.
// The root so sends all of them down together, and an exchange of n hosts takes
// about two messages a host; flooded one by one it would take n, each a
// connection of its own. What has come after gatherTime goes on in any case: who
// waits can so name exactly who is missing, and a host that never comes holds up
// no news of the others.
//
// Most ranks bring nothing, at a barrier and at the opening of the job. Of those
// hosts are told, not ranks, and a member makes one record of all that it holds,
// which goes to its parent only: ten thousand ranks at a barrier are a span of
// nodes that fits into a packet.

// The exchanges that stand for the opening of the job and for the wish for the
// next epoch. Nobody waits at them; they tell the members which ranks have come,
// so that who waits for others can name those who have not.
const (
	openName = "\x00open"
	nextName = "\x00next"
)

// gatherTime is how long arrivals are held at first, and lastGatherTime at last:
// it doubles, so that stragglers of a large job do not each make a wave. In a job
// in which all ranks come together it does not pass, so it only has to be short
// for a person who waits for an answer.
const (
	gatherTime     = 200 * time.Millisecond
	lastGatherTime = 5 * gatherTime
)

// gathering is the arrivals under one name on their way through this member.
type gathering struct {
	own     []arrival // of this host's ranks, not made a record yet
	left    int       // ranks of this host that have not come
	nodes   []int     // hosts that brought nothing, not made a record yet
	held    []entry   // other records not entered yet
	climbed []byte    // the record of hosts that went to the parent only, while it has not come back with the rest
	missing int       // ranks of the hosts at and below this one that have not come
	absent  int       // ranks of the job that have not
	split   bool      // a part of the own ranks has been told of without the rest
	pause   time.Duration
	timer   *time.Timer
}

// gathering returns that of a name. n.mu is held.
func (n *Node) gathering(name string) *gathering {
	g := n.gatherings[name]
	if g == nil {
		g = &gathering{left: len(n.roster[n.self].Ranks), missing: len(n.below), absent: n.ranks, pause: gatherTime}
		n.gatherings[name] = g
	}
	return g
}

// gather takes the arrival of a rank of this host. It is called once for each.
func (n *Node) gather(epoch int, name string, a arrival) {
	n.ledger.know(epoch, arrivalDigest(name, a))
	n.mu.Lock()
	defer n.mu.Unlock()
	if epoch != n.epoch || n.leaving {
		return
	}
	g := n.gathering(name)
	g.own = append(g.own, a)
	g.left--
	g.missing--
	g.absent--
	n.proceed(name, g)
}

// arrive notes arrivals that other members tell of and returns the ranks of
// which that is news. Of this host's own it never is.
func (n *Node) arrive(epoch int, name string, came ...arrival) (news []int, err error) {
	own := n.own(epoch)
	for _, a := range came {
		if slices.Contains(own, a.rank) {
			continue
		}
		var isNew bool
		switch name {
		case openName:
			isNew, err = n.known.Opened(epoch, a.rank)
		case nextName:
			isNew, err = n.known.Ask(epoch, a.rank)
		default:
			isNew, err = n.known.Arrive(epoch, a.rank, name, a.value)
		}
		if err != nil {
			return news, err
		}
		if isNew {
			n.ledger.know(epoch, arrivalDigest(name, a))
			news = append(news, a.rank)
		}
	}
	return news, nil
}

// arrivalDigest identifies an arrival.
func arrivalDigest(name string, a arrival) digest {
	b := append(make([]byte, 0, 64), name...)
	b = binary.BigEndian.AppendUint32(append(b, 0), uint32(a.rank))
	return digestOf(append(b, a.value...))
}

// forward takes a claimed record of arrivals, or of hosts, of which those of
// some ranks are news. What comes down the tree goes on at once.
func (n *Node) forward(name string, r record, e entry, news []int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if e.epoch != n.epoch || n.leaving || len(news) == 0 {
		return
	}
	g := n.gathering(name)
	for _, rank := range news {
		g.absent--
		if n.below[rank] {
			g.missing--
		}
	}
	switch h, ok := r.(*hosts); {
	case e.from == n.parent:
		n.ledger.enter(e)
	case ok:
		for _, s := range h.nodes {
			for node := s.first; node <= s.last; node++ {
				g.nodes = append(g.nodes, node)
			}
		}
	default:
		g.held = append(g.held, e)
	}
	n.proceed(name, g)
}

// proceed passes on what is not to be held any longer. n.mu is held.
func (n *Node) proceed(name string, g *gathering) {
	if g.left == 0 {
		n.record(name, g)
	}
	if g.missing <= 0 {
		n.merge(name, g, n.parent >= 0)
	}
	if g.absent <= 0 {
		g.climbed = nil
	}
	waiting := len(g.own) > 0 || len(g.held) > 0 || len(g.nodes) > 0 || g.climbed != nil
	switch {
	case waiting && g.timer == nil && !n.leaving:
		n.workers.Add(1)
		g.timer = time.AfterFunc(g.pause, func() {
			defer n.workers.Done()
			n.mu.Lock()
			defer n.mu.Unlock()
			g.timer = nil
			n.release(name, g)
		})
		g.pause = min(2*g.pause, lastGatherTime)
	case !waiting:
		n.stopTimer(g)
	}
}

// record makes own arrivals a held record, or counts this host among those that
// brought nothing. n.mu is held.
func (n *Node) record(name string, g *gathering) {
	empty := g.left == 0 && !g.split
	for _, a := range g.own {
		empty = empty && len(a.value) == 0
	}
	if empty && len(g.own) > 0 {
		g.nodes = append(g.nodes, n.self)
		g.own = nil
	}
	for _, r := range split(name, g.own) {
		g.split = true
		b, err := write(n.epoch, r)
		if err != nil {
			n.log.Error("arrivals cannot be told", "name", name, "error", err)
			continue
		}
		if e := (entry{epoch: n.epoch, record: b, from: n.self}); n.ledger.claim(e) {
			g.held = append(g.held, e)
		}
	}
	g.own = nil
}

// merge enters what is held, of the hosts that brought nothing as one record,
// which goes up only if it will come down again. n.mu is held.
func (n *Node) merge(name string, g *gathering, up bool) {
	n.ledger.enter(g.held...)
	g.held = nil
	if len(g.nodes) == 0 {
		return
	}
	b, err := write(n.epoch, &hosts{name, spans(g.nodes)})
	g.nodes = nil
	if err != nil {
		n.log.Error("arrivals cannot be told", "name", name, "error", err)
		return
	}
	e := entry{epoch: n.epoch, record: b, from: n.self, up: up}
	n.ledger.claim(e) // it may be the very record that came from below
	if up {
		g.climbed = b
	}
	n.ledger.enter(e)
}

// release passes everything on, everywhere. n.mu is held.
func (n *Node) release(name string, g *gathering) {
	if g.climbed != nil {
		n.ledger.enter(entry{epoch: n.epoch, record: g.climbed, from: n.self})
		g.climbed = nil
	}
	n.record(name, g)
	n.merge(name, g, false)
	n.proceed(name, g)
}

// stopTimer stops a gathering's timer. n.mu is held.
func (n *Node) stopTimer(g *gathering) {
	if g.timer != nil && g.timer.Stop() {
		n.workers.Done()
	}
	g.timer = nil
}

// look notes where this member stands in the tree: its parent and which ranks
// are at and below it. It lets go of what was gathered by another tree. n.mu is
// held.
func (n *Node) look() {
	n.below = map[int]bool{}
	n.ranks, n.parent = 0, -1
	under := make([]bool, len(n.roster)) // parents come before their children
	for node, host := range n.roster {
		n.ranks += len(host.Ranks)
		if n.gone(node) {
			continue
		}
		up := parent(node, n.gone)
		if node == n.self {
			n.parent = up
		}
		under[node] = node == n.self || up >= 0 && under[up]
		for _, rank := range host.Ranks {
			if under[node] {
				n.below[rank] = true
			}
		}
	}
	for name, g := range n.gatherings {
		n.release(name, g)
	}
}
