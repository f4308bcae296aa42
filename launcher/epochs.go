package launcher

import (
	"fmt"

	"github.com/gorun/gorun/launcher/wire"
	"github.com/gorun/gorun/rendezvous"
)

// epoch is who the ranks of a job are to each other: all at first, later those
// that have gone on without the others. The launcher begins them, because it
// alone sees the ends of ranks and the wishes of those that live in one order.
type epoch struct {
	number int
	ranks  []int        // of the plan, by the number that they have in the epoch
	asked  map[int]bool // ranks of the plan that wait for the next
}

func firstEpoch(size int) epoch {
	e := epoch{ranks: make([]int, size), asked: map[int]bool{}}
	for rank := range e.ranks {
		e.ranks[rank] = rank
	}
	return e
}

// numbers returns the numbers that ranks of the plan have in the epoch, of those
// that are in it.
func (e *epoch) numbers(ranks []int) (numbers []int) {
	wanted := map[int]bool{}
	for _, rank := range ranks {
		wanted[rank] = true
	}
	for number, rank := range e.ranks {
		if wanted[rank] {
			numbers = append(numbers, number)
		}
	}
	return numbers
}

// rankAsked notes that a rank waits for the next epoch.
func (l *launch) rankAsked(h *host, m *wire.Asked) {
	if m.Epoch != l.epoch.number {
		return // it was slower than the others
	}
	if m.Rank < 0 || m.Rank >= len(l.epoch.ranks) || !l.seated(h, l.epoch.ranks[m.Rank]) {
		l.lose(h, fmt.Errorf("the agent sent a %T of rank %d, which is not on its host", m, m.Rank))
		return
	}
	l.epoch.asked[l.epoch.ranks[m.Rank]] = true
	l.proceed()
}

// proceed begins the next epoch if all who run wait for it.
func (l *launch) proceed() {
	if len(l.epoch.asked) == 0 {
		return
	}
	next := epoch{number: l.epoch.number + 1, asked: map[int]bool{}}
	var numbers []int
	for number, rank := range l.epoch.ranks {
		if l.ranks.exits[rank] != nil {
			continue
		}
		if !l.epoch.asked[rank] {
			return
		}
		numbers = append(numbers, number)
		next.ranks = append(next.ranks, rank)
	}
	if len(numbers) == 0 {
		return
	}
	l.announce(rendezvous.NewEpoch, "", "", numbers)
	l.epoch = next
}
