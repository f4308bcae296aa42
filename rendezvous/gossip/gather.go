package gossip

import (
	"time"
)

// openName is the exchange that stands for the opening of the job. Nobody waits
// at it; it tells the members which ranks have opened.
const openName = "\x00open"

// gatherTime is how long a member waits for more of its ranks before it tells
// the others which have come. In a job in which all ranks come it does not pass,
// so it only has to be short for a person who waits for an answer.
const gatherTime = 200 * time.Millisecond

// gathering is the arrivals of this host's ranks under one name that the others
// have not been told of.
type gathering struct {
	came    []arrival
	missing int
	timer   *time.Timer // nil: none is running
}

// gather notes the arrival of a rank of this host, of which it is called once.
func (n *Node) gather(name string, a arrival) {
	n.mu.Lock()
	g := n.gatherings[name]
	if g == nil {
		g = &gathering{missing: len(n.conf.Roster[n.self].Ranks)}
		n.gatherings[name] = g
	}
	g.came = append(g.came, a)
	g.missing--
	if g.missing > 0 {
		if g.timer == nil && !n.leaving {
			n.workers.Add(1)
			g.timer = time.AfterFunc(gatherTime, func() {
				defer n.workers.Done()
				n.mu.Lock()
				came := g.came
				g.came, g.timer = nil, nil
				n.mu.Unlock()
				n.arrived(name, came)
			})
		}
		n.mu.Unlock()
		return
	}
	came := g.came
	g.came = nil
	delete(n.gatherings, name)
	n.stopTimer(g)
	n.mu.Unlock()
	n.arrived(name, came)
}

// stopTimer stops a gathering's timer. n.mu is held.
func (n *Node) stopTimer(g *gathering) {
	if g.timer != nil && g.timer.Stop() {
		g.timer = nil
		n.workers.Done()
	}
}

// arrived tells the other members.
func (n *Node) arrived(name string, came []arrival) {
	for _, r := range split(name, came) {
		n.publish(r)
	}
}
