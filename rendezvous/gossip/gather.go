package gossip

import (
	"time"
)

// Arrivals climb the tree in one wave: a member holds those of its own ranks and
// of the hosts below it until all have come, and then passes them on together.
// The root so sends all of them down together, and an exchange of n hosts takes
// about three messages a host; flooded one by one it would take n, each a
// connection of its own. What has come after gatherTime goes on in any case, and
// the rest then as it comes: who waits can so name exactly who is missing, and a
// host that never comes holds up no news of the others.

// openName is the exchange that stands for the opening of the job. Nobody waits
// at it; it tells the members which ranks have opened.
const openName = "\x00open"

// gatherTime is how long arrivals are held. In a job in which all ranks come it
// does not pass, so it only has to be short for a person who waits for an
// answer.
const gatherTime = 200 * time.Millisecond

// gathering is the arrivals under one name on their way through this member.
type gathering struct {
	own     []arrival // of this host's ranks, not made a record yet
	left    int       // ranks of this host that have not come
	held    []entry   // records not entered yet
	missing int       // ranks of the hosts at and below this one that have not come
	open    bool      // nothing is held any more, but own ranks' arrivals until all have come
	timer   *time.Timer
}

// gathering returns that of a name. n.mu is held.
func (n *Node) gathering(name string) *gathering {
	g := n.gatherings[name]
	if g == nil {
		g = &gathering{left: len(n.conf.Roster[n.self].Ranks), missing: len(n.below)}
		n.gatherings[name] = g
	}
	return g
}

// gather takes the arrival of a rank of this host. It is called once for each.
func (n *Node) gather(name string, a arrival) {
	n.mu.Lock()
	defer n.mu.Unlock()
	g := n.gathering(name)
	g.own = append(g.own, a)
	g.left--
	g.missing--
	n.proceed(name, g)
}

// forward takes a claimed record of arrivals that node from sent.
func (n *Node) forward(r *arrivals, record []byte, from int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	g := n.gathering(r.name)
	g.held = append(g.held, entry{record, from})
	for _, a := range r.came {
		if n.below[a.rank] {
			g.missing--
		}
	}
	n.proceed(r.name, g)
}

// proceed enters what is not to be held any longer. n.mu is held.
func (n *Node) proceed(name string, g *gathering) {
	if g.missing <= 0 {
		g.open = true
	}
	if g.left == 0 {
		n.record(name, g)
	}
	if g.open {
		n.ledger.enter(g.held...)
		g.held = nil
	}
	waiting := len(g.own) > 0 || len(g.held) > 0
	switch {
	case waiting && g.timer == nil && !n.leaving:
		n.workers.Add(1)
		g.timer = time.AfterFunc(gatherTime, func() {
			defer n.workers.Done()
			n.mu.Lock()
			defer n.mu.Unlock()
			g.timer = nil
			n.release(name, g)
		})
	case !waiting:
		n.stopTimer(g)
	}
}

// record makes own arrivals a held record. n.mu is held.
func (n *Node) record(name string, g *gathering) {
	for _, r := range split(name, g.own) {
		b, err := write(r)
		if err != nil {
			n.log.Error("arrivals cannot be told", "name", name, "error", err)
			continue
		}
		if n.ledger.claim(b) {
			g.held = append(g.held, entry{b, n.self})
		}
	}
	g.own = nil
}

// release enters everything and holds nothing back from now on. n.mu is held.
func (n *Node) release(name string, g *gathering) {
	g.open = true
	n.record(name, g)
	n.proceed(name, g)
}

// stopTimer stops a gathering's timer. n.mu is held.
func (n *Node) stopTimer(g *gathering) {
	if g.timer != nil && g.timer.Stop() {
		n.workers.Done()
	}
	g.timer = nil
}

// lookBelow notes which ranks are at and below this member in the tree, and lets
// go of what was gathered by another tree. n.mu is held.
func (n *Node) lookBelow() {
	n.below = map[int]bool{}
	under := make([]bool, len(n.conf.Roster)) // parents come before their children
	for node, host := range n.conf.Roster {
		if n.gone(node) {
			continue
		}
		up := parent(node, n.gone)
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
