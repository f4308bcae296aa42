package sched

import "fmt"

// Collective is what a set of plans is to achieve.
type Collective int

// The collectives of which there are plans.
const (
	ReducesAll Collective = iota
	GathersAll
	ReducesScattered
	Broadcasts
)

// Verify plays the plans of all ranks of a ring, by rank, against each other,
// and reports the first thing that is wrong:
//
//   - a rank sends what the next does not receive at that point, or reads what has not come;
//   - a chunk that passes through does not find its place free, with two of them in turn;
//   - all ranks wait for each other although links hold nothing: a send and its receive happen together;
//   - at the end an element of some dst has not every rank's contribution exactly once, or, where nothing is reduced, is not
//     what its rank gave.
//
// Elements are counted as in the call; root is the root of a broadcast. There
// can be 192 ranks at most.
func Verify(c Collective, plans []Plan, order []int, count, root int) error {
	n := len(plans)
	if n > 64*len(rankSet{}) {
		return fmt.Errorf("%d ranks, want at most %d", n, 64*len(rankSet{}))
	}
	w := &world{collective: c, count: count, root: root, order: order}
	for rank := range plans {
		w.ranks = append(w.ranks, newPlayer(plans[rank], c, n, count, rank))
	}
	for busy := true; busy; {
		busy = false
		for seat := range n {
			sender, receiver := w.ranks[order[seat]], w.ranks[order[(seat+1)%n]]
			ok, err := w.hand(sender, receiver)
			if err != nil {
				return fmt.Errorf("from rank %d to rank %d: %w", order[seat], order[(seat+1)%n], err)
			}
			busy = busy || ok
		}
	}
	for rank, p := range w.ranks {
		if !p.done() {
			return fmt.Errorf("rank %d stands still before move %d", rank, p.firstOpen())
		}
		if err := w.complete(rank); err != nil {
			return err
		}
	}
	return nil
}

// value is what is known of one element.
type value struct {
	of  rankSet // whose contributions are in it; none where nothing has been put
	src int     // which element of their src it was
}

// rankSet is a set of ranks, a bit for each.
type rankSet [3]uint64

func setOf(rank int) (s rankSet) {
	s[rank/64] = 1 << (rank % 64)
	return s
}

// with returns the union of two sets; ok is false if they have a rank in common.
func (s rankSet) with(o rankSet) (union rankSet, ok bool) {
	ok = true
	for i := range s {
		ok = ok && s[i]&o[i] == 0
		union[i] = s[i] | o[i]
	}
	return union, ok
}

// world is a ring of players.
type world struct {
	collective  Collective
	count, root int
	order       []int
	ranks       []*player
}

// player is a rank that plays its plan: two cursors, as the executor has.
type player struct {
	rank       int
	moves      []Move
	recv, send int // next to receive, next to send: indexes of moves
	dst        []value
	relay      [2]*relay // by the parity of a move
}

// relay is a chunk that passes through.
type relay struct {
	index  int // of its move
	values []value
}

func newPlayer(p Plan, c Collective, n, count, rank int) *player {
	length := count
	if c == GathersAll {
		length = n * count
	}
	pl := &player{rank: rank, dst: make([]value, length)}
	for m, ok := p.Next(); ok; m, ok = p.Next() {
		pl.moves = append(pl.moves, m)
	}
	for _, m := range pl.moves {
		if m.Copy {
			copy(pl.dst[m.Out:], pl.own(m))
		}
	}
	pl.skip()
	return pl
}

func (p *player) done() bool { return p.recv == len(p.moves) && p.send == len(p.moves) }

// firstOpen returns the index of the first move that is not done.
func (p *player) firstOpen() int {
	first := min(p.recv, p.send)
	return p.moves[first].Index
}

// own returns this rank's elements of a move.
func (p *player) own(m Move) []value {
	values := make([]value, m.Len)
	for i := range values {
		values[i] = value{setOf(p.rank), m.In + i}
	}
	return values
}

// hand moves one chunk over a link, if both ends are ready for it.
func (w *world) hand(from, to *player) (bool, error) {
	if from.send == len(from.moves) {
		return false, nil
	}
	s := from.moves[from.send]
	if s.Recv && from.recv <= from.send {
		return false, nil // what it sends has not come
	}
	if to.recv == len(to.moves) {
		return false, fmt.Errorf("move %d is sent, and nothing more is received", s.Index)
	}
	r := to.moves[to.recv]
	if r.Relay && to.send < len(to.moves) && r.Index-to.moves[to.send].Index >= 2 {
		return false, nil // no place is free
	}
	if s.Len != r.Len {
		return false, fmt.Errorf("move %d sends %d elements, move %d receives %d", s.Index, s.Len, r.Index, r.Len)
	}
	values, err := from.outgoing(s)
	if err != nil {
		return false, err
	}
	if err := to.incoming(r, values); err != nil {
		return false, err
	}
	from.send++
	to.recv++
	from.skip()
	to.skip()
	return true, nil
}

// skip moves the cursors over moves that are not of their kind.
func (p *player) skip() {
	for p.recv < len(p.moves) && !p.moves[p.recv].Recv {
		p.recv++
	}
	for p.send < len(p.moves) && !p.moves[p.send].Send {
		p.send++
	}
}

// outgoing returns what a move sends.
func (p *player) outgoing(m Move) ([]value, error) {
	switch {
	case !m.Recv:
		return p.own(m), nil
	case m.Relay:
		chunk := p.relay[m.Index%2]
		if chunk == nil || chunk.index != m.Index {
			return nil, fmt.Errorf("move %d sends a chunk that has been overwritten", m.Index)
		}
		return chunk.values, nil
	}
	return p.dst[m.Out : m.Out+m.Len], nil
}

// incoming does with values what a move does.
func (p *player) incoming(m Move, values []value) error {
	if m.Reduce {
		sums := make([]value, len(values))
		for i, own := range p.own(m) {
			if values[i].src != own.src {
				return fmt.Errorf("move %d reduces element %d into element %d", m.Index, own.src, values[i].src)
			}
			of, ok := values[i].of.with(own.of)
			if !ok {
				return fmt.Errorf("move %d reduces element %d of rank %d a second time", m.Index, own.src, p.rank)
			}
			sums[i] = value{of, own.src}
		}
		values = sums
	}
	if m.Relay {
		p.relay[m.Index%2] = &relay{m.Index, values}
		return nil
	}
	copy(p.dst[m.Out:], values)
	return nil
}

// complete reports whether rank has what the collective promises.
func (w *world) complete(rank int) error {
	var all rankSet
	for r := range w.ranks {
		all, _ = all.with(setOf(r))
	}
	for i, got := range w.ranks[rank].dst {
		var want value
		switch w.collective {
		case ReducesAll:
			want = value{all, i}
		case ReducesScattered:
			want = value{all, rank*w.count + i}
		case GathersAll:
			want = value{setOf(i / w.count), i % w.count}
		case Broadcasts:
			want = value{setOf(w.root), i}
		}
		if got != want {
			return fmt.Errorf("rank %d has at %d element %d of ranks %x, want element %d of ranks %x", rank, i, got.src, got.of, want.src, want.of)
		}
	}
	return nil
}
