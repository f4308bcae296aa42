// Package sched decides which chunk of a collective crosses which link, and
// what happens to it: a plan is a value, made from the shape of a call alone.
// It does no I/O, owns no goroutine and reads no clock, so that every claim
// about an algorithm can be tested without running it ([Verify]).
//
// # Model
//
// Ranks sit on a ring and hand chunks to the next one only. A [Plan] is one
// rank's list of moves, read with [Plan.Next]. A [Move] is at most three
// things, in this order: a chunk comes from the rank before, this rank's
// elements are reduced into it or it is put where it belongs, and it goes to
// the rank after. The chunks that a rank sends are, in order, those that the
// next rank receives, with the same lengths: links need to carry bytes only, no
// headers.
//
// Moves may overlap. What a move sends depends on what the same move receives,
// byte by byte, and on nothing else; so a rank may receive for later moves
// while earlier ones are still being sent. A chunk that is only passing through
// (Relay) needs two places of one chunk each, used in turn, whatever the links
// can hold. Then no ring stands still, which Verify checks.
//
// The moves are those of NCCL's ring algorithms (src/device/all_reduce.h,
// all_gather.h, reduce_scatter.h, broadcast.h, 2.18 to 2.30): 2(n−1) sends of
// 1/n for all-reduce, n−1 for the others, which is the least that a ring can
// do.
package sched

// Move is one step of a plan. Offsets and lengths are elements.
type Move struct {
	Index int // of the move in its plan, counting empty ones, which Next skips

	Recv   bool // a chunk comes from the rank before
	Reduce bool // the elements of src at In are reduced into it
	Final  bool // with that it has all ranks' elements
	Copy   bool // without Recv: the chunk of src at In goes to dst at Out too
	Send   bool // the chunk goes to the rank after; without Recv it is src at In
	Relay  bool // with Recv: the chunk is for the rank after only, not for dst

	In, Out, Len int
}

// Ring is a rank's seat: Order has the ranks in the order in which they hand
// chunks on, and Order[Index] is this one.
type Ring struct {
	Order []int
	Index int
}

// Size returns how many ranks there are.
func (r Ring) Size() int { return len(r.Order) }

// Prev returns the rank before.
func (r Ring) Prev() int { return r.back(1) }

// Next returns the rank after.
func (r Ring) Next() int { return r.back(-1) }

// back returns the rank that is n seats before this one.
func (r Ring) back(n int) int { return r.Order[r.seat(n)] }

// seat returns the index that is n seats before this one, -Size < n.
func (r Ring) seat(n int) int { return (r.Index - n + 2*len(r.Order)) % len(r.Order) }

// Plan is one rank's moves in one collective. Make it with [AllReduce],
// [AllGather], [ReduceScatter] or [Broadcast], and copy it to read it twice.
type Plan struct {
	ring  Ring
	moves func(*Plan) Move // the move at step of the current round

	count int // elements, as in the call
	chunk int // most elements of a move
	grain int // alignment of chunks in the last round
	steps int // of a round
	parts int // of the range that a round covers: a chunk each
	root  int // index of the root's seat

	at    int // elements that earlier rounds cover, in each part or of the whole
	size  int // elements of a chunk in this round
	step  int // next, in this round
	index int // next, in the plan
}

// Next returns the plan's next move that has elements; ok is false after the last.
func (p *Plan) Next() (m Move, ok bool) {
	for p.at < p.count {
		if p.step == 0 {
			p.size = p.round()
		}
		m = p.moves(p)
		m.Index = p.index
		p.index++
		p.step++
		if p.step == p.steps {
			p.step = 0
			p.at += p.size * p.parts
		}
		if m.Len > 0 {
			return m, true
		}
	}
	return Move{}, false
}

// round returns the size of a chunk in the round that begins: the full size, or
// in the last round an equal share of what is left, rounded up so that chunks
// begin at multiples of grain.
func (p *Plan) round() int {
	left := p.count - p.at
	if left >= p.chunk*p.parts {
		return p.chunk
	}
	share := (left + p.parts - 1) / p.parts
	return min(p.chunk, (share+p.grain-1)/p.grain*p.grain)
}
