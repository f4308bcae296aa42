package rendezvous

import (
	"context"
	"fmt"
	"slices"

	"github.com/gorun/gorun/rankenv"
)

// An epoch is a time in which the job's ranks have the same numbers. It ends by
// a NewEpoch event, which says who goes on: those become the ranks of the next
// one, numbered densely in their old order, on the same hosts. What was published
// in an epoch ends with it. Who decides that is not said here: a Memory that is
// all of a job does, once all living ranks have asked; in a cluster the launcher
// does, which alone can see the ends of ranks and their wishes in one order.

// epoch is what a Memory knows of one. Memory.mu guards all that changes.
type epoch struct {
	number   int
	plan     []Host
	ring     []int         // all ranks, in the order of the plan
	hosts    []string      // name of each rank's host
	before   []int         // by rank: the number in the epoch before
	departed []int         // of the epoch before, in its numbers
	first    int           // the first of Memory.events that belongs to it
	over     chan struct{} // closed when the next begins

	opened    []bool // by rank
	asked     []bool // by rank: who waits for the next epoch
	values    map[valueKey]*published
	exchanges map[string]*exchange
	lost      []int // ascending
	size      int   // see maxMemory
}

// newEpoch returns the epoch of a plan that is right.
func newEpoch(plan []Host, before []int, number int) *epoch {
	e := &epoch{
		number:    number,
		before:    before,
		over:      make(chan struct{}),
		values:    map[valueKey]*published{},
		exchanges: map[string]*exchange{},
	}
	for _, host := range plan {
		e.plan = append(e.plan, Host{host.Name, slices.Clone(host.Ranks)})
		e.ring = append(e.ring, host.Ranks...)
	}
	n := len(e.ring)
	e.hosts, e.opened, e.asked = make([]string, n), make([]bool, n), make([]bool, n)
	for _, host := range plan {
		for _, rank := range host.Ranks {
			e.hosts[rank] = host.Name
		}
	}
	return e
}

// at returns the epoch of a call, if it is the present one and has the rank.
func (m *Memory) at(number, rank int) (*epoch, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.find(number, rank)
}

// find is at. m.mu is held.
func (m *Memory) find(number, rank int) (*epoch, error) {
	switch present := len(m.epochs) - 1; {
	case number < 0 || number > present:
		return nil, fmt.Errorf("%w: %d has not begun, it is %d", ErrStale, number, present)
	case number < present:
		return nil, m.epochs[number].stale()
	}
	e := m.epochs[number]
	return e, e.check(rank)
}

func (e *epoch) check(rank int) error {
	if rank < 0 || rank >= len(e.hosts) {
		return fmt.Errorf("rendezvous: rank is %d, want 0 to %d", rank, len(e.hosts)-1)
	}
	return nil
}

func (e *epoch) stale() error { return fmt.Errorf("%w: %d", ErrStale, e.number) }

func (e *epoch) ended() bool {
	select {
	case <-e.over:
		return true
	default:
		return false
	}
}

// grow accounts for n more bytes.
func (e *epoch) grow(n int) error {
	if e.size+n > maxMemory {
		return fmt.Errorf("rendezvous: the job has published %d bytes, at most %d are allowed", e.size, maxMemory)
	}
	e.size += n
	return nil
}

// missing returns the *MissingError of a wait for those ranks that have not
// come.
func (e *epoch) missing(what string, came func(rank int) bool, err error) error {
	missing := &MissingError{What: what, Err: err}
	for rank := range e.hosts {
		if !came(rank) {
			missing.Ranks = append(missing.Ranks, rank)
		}
	}
	named := map[string]bool{}
	for _, rank := range e.ring {
		if host := e.hosts[rank]; !came(rank) && !named[host] {
			named[host] = true
			missing.Hosts = append(missing.Hosts, host)
		}
	}
	return missing
}

// Epoch returns the number of the present epoch and its plan: the hosts of the
// first, with the ranks that they have now, perhaps none.
func (m *Memory) Epoch() (number int, plan []Host) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.epochs[len(m.epochs)-1]
	for _, host := range e.plan {
		plan = append(plan, Host{host.Name, slices.Clone(host.Ranks)})
	}
	return e.number, plan
}

// NextEpoch implements [Backend], for a Memory that is all of a job: the next
// epoch begins when all ranks have asked that are not lost.
func (m *Memory) NextEpoch(ctx context.Context, after, rank int) (rankenv.World, []int, error) {
	if _, err := m.Ask(after, rank); err == nil {
		m.mu.Lock()
		err := m.decide(m.epochs[after])
		m.mu.Unlock()
		if err != nil {
			return rankenv.World{}, nil, err
		}
	}
	return m.AwaitEpoch(ctx, after, rank)
}

// Ask is the first half of NextEpoch: it notes that a rank waits for the epoch
// after that one and does not block. It tells whether that is news.
func (m *Memory) Ask(after, rank int) (news bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, err := m.find(after, rank)
	if err != nil {
		return false, err
	}
	news = !e.asked[rank]
	e.asked[rank] = true
	return news, nil
}

// decide begins the next epoch if all who live have asked, and somebody has.
// m.mu is held.
func (m *Memory) decide(e *epoch) error {
	var on []int
	for rank := range e.asked {
		switch {
		case slices.Contains(e.lost, rank):
		case !e.asked[rank]:
			return nil
		default:
			on = append(on, rank)
		}
	}
	if len(on) == 0 || e.ended() {
		return nil
	}
	return m.report(Event{Kind: NewEpoch, Epoch: e.number, Ranks: on})
}

// advance begins the epoch after e, with these of its ranks. m.mu is held.
func (m *Memory) advance(e *epoch, on []int) {
	on = slices.Clone(on)
	slices.Sort(on)
	on = slices.Compact(on)
	now := map[int]int{}
	for rank, before := range on {
		now[before] = rank
	}
	plan := make([]Host, len(e.plan))
	for i, host := range e.plan {
		plan[i].Name = host.Name
		for _, before := range host.Ranks {
			if rank, ok := now[before]; ok {
				plan[i].Ranks = append(plan[i].Ranks, rank)
			}
		}
	}
	next := newEpoch(plan, on, e.number+1)
	for before := range e.hosts {
		if _, ok := now[before]; !ok {
			next.departed = append(next.departed, before)
		}
	}
	next.first = len(m.events)
	m.epochs = append(m.epochs, next)
	close(e.over)
	e.values, e.exchanges, e.size = map[valueKey]*published{}, map[string]*exchange{}, 0
}

// AwaitEpoch is the second half of NextEpoch.
func (m *Memory) AwaitEpoch(ctx context.Context, after, rank int) (w rankenv.World, departed []int, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if after < 0 || after >= len(m.epochs) {
		_, err := m.find(after, rank)
		return w, nil, err
	}
	e := m.epochs[after]
	if err := e.check(rank); err != nil {
		return w, nil, err
	}
	m.mu.Unlock()
	select {
	case <-e.over:
	case <-ctx.Done():
	}
	m.mu.Lock()
	if !e.ended() {
		came := func(rank int) bool { return e.asked[rank] || slices.Contains(e.lost, rank) }
		return w, nil, e.missing(fmt.Sprintf("epoch %d", after+1), came, ctx.Err())
	}
	next := m.epochs[after+1]
	now, ok := slices.BinarySearch(next.before, rank)
	switch {
	case next.ended():
		return w, nil, next.stale()
	case !ok:
		return w, nil, fmt.Errorf("%w: %d, and rank %d has no place in the next", ErrStale, after, rank)
	}
	return next.world(now), slices.Clone(next.departed), nil
}

// world returns the place of a rank, as far as the plan tells it.
func (e *epoch) world(rank int) rankenv.World {
	w := rankenv.World{Rank: rank, Size: len(e.hosts), Host: e.hosts[rank]}
	for _, host := range e.plan {
		if len(host.Ranks) == 0 {
			continue
		}
		if slices.Contains(host.Ranks, rank) {
			w.Node, w.LocalSize = w.Nodes, len(host.Ranks)
			for _, other := range host.Ranks {
				if other < rank {
					w.LocalRank++
				}
			}
		}
		w.Nodes++
	}
	return w
}
