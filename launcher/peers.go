package launcher

import (
	"fmt"

	"github.com/gorun/gorun/launcher/wire"
	"github.com/gorun/gorun/rendezvous"
)

// What hosts and ranks are told of each other.

// introduce tells the members of all hosts where the others are, as soon as
// that is known of all but those that were lost before they could say it.
func (l *launch) introduce() {
	all, known := make([]string, len(l.hosts)), 0 // by node
	for _, h := range l.hosts {
		if h.lost != nil {
			continue
		}
		if !h.ready {
			return
		}
		if h.gossip != "" {
			all[h.node] = h.gossip
			known++
		}
	}
	if l.introduced || known < 2 {
		return
	}
	l.introduced = true
	meet, err := wire.Share(&wire.Meet{Gossip: all})
	if err != nil {
		l.event(Event{Kind: Warning, Rank: -1, Message: fmt.Sprintf("the hosts cannot be told of each other: %v", err)})
		return
	}
	for _, h := range l.hosts {
		h.conn.SendShared(meet)
	}
}

// report tells the ranks that others are lost.
func (l *launch) report(host, cause string, ranks ...int) {
	if lost := l.epoch.numbers(ranks); len(lost) > 0 {
		l.announce(rendezvous.Lost, host, cause, lost)
	}
}

// announce tells the ranks of an event that concerns ranks of the epoch, by its
// numbers.
func (l *launch) announce(kind rendezvous.Kind, host, cause string, ranks []int) {
	for _, h := range l.hosts {
		if !h.ended() {
			h.conn.Send(&wire.Report{Kind: string(kind), Epoch: l.epoch.number, Host: host, Cause: cause, Ranks: ranks, Clock: l.time().UnixNano()})
		}
	}
}
