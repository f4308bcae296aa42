package sched

// AllReduce plans the reduction of count elements into every rank's dst: a
// reduce-scatter of the blocks, then an all-gather, in rounds of Size chunks.
// Chunks have at most chunk elements, a multiple of grain. The partial sums of
// a block pass through dst: its final value comes there only after they have
// left.
//
// In a round, step j moves block Index-j-1. The steps before Size-1 gather the
// sum of blocks on their way round, step Size-1 completes this rank's own, and
// the others hand completed blocks on.
func AllReduce(r Ring, count, chunk, grain int) Plan {
	n := r.Size()
	return Plan{ring: r, moves: allReduceMove, count: count, chunk: chunk, grain: grain, steps: 2*n - 1, parts: n}
}

func allReduceMove(p *Plan) Move {
	n := p.ring.Size()
	off := p.ring.seat((p.step+1)%n) * p.size
	m := Move{In: p.at + off, Out: p.at + off, Len: max(0, min(p.size, p.count-p.at-off))}
	m.Recv = p.step > 0
	m.Reduce = p.step > 0 && p.step < n
	m.Final = p.step == n-1
	m.Send = p.step < 2*n-2
	return m
}

// AllGather plans the gathering of every rank's count elements into part p of
// every rank's dst. Chunks have at most chunk elements. In a round, step j
// moves a chunk of the rank that is j seats before this one.
func AllGather(r Ring, count, chunk int) Plan {
	return Plan{ring: r, moves: allGatherMove, count: count, chunk: chunk, grain: 1, steps: r.Size(), parts: 1}
}

func allGatherMove(p *Plan) Move {
	last := p.ring.Size() - 1
	return Move{
		Recv: p.step > 0,
		Copy: p.step == 0,
		Send: p.step < last,
		In:   p.at,
		Out:  p.ring.back(p.step)*p.count + p.at,
		Len:  p.length(),
	}
}

// ReduceScatter plans the reduction of all ranks' part p, of count elements,
// into rank p's dst. Chunks have at most chunk elements. In a round, step j
// moves a chunk of the part of the rank that is j+1 seats before this one, so
// that this rank's own comes last, complete.
func ReduceScatter(r Ring, count, chunk int) Plan {
	return Plan{ring: r, moves: reduceScatterMove, count: count, chunk: chunk, grain: 1, steps: r.Size(), parts: 1}
}

func reduceScatterMove(p *Plan) Move {
	n := p.ring.Size()
	last := n - 1
	return Move{
		Recv:   p.step > 0,
		Reduce: p.step > 0,
		Final:  p.step == last,
		Send:   p.step < last,
		Relay:  p.step > 0 && p.step < last,
		In:     p.ring.back((p.step+1)%n)*p.count + p.at,
		Out:    p.at,
		Len:    p.length(),
	}
}

// Broadcast plans the copying of root's count elements to every dst, in chunks
// of at most chunk elements: each rank hands on what it receives, and the one
// before root keeps it.
func Broadcast(r Ring, count, chunk, root int) Plan {
	seat := 0
	for i, rank := range r.Order {
		if rank == root {
			seat = i
		}
	}
	return Plan{ring: r, moves: broadcastMove, count: count, chunk: chunk, grain: 1, steps: 1, parts: 1, root: seat}
}

func broadcastMove(p *Plan) Move {
	n := p.ring.Size()
	return Move{
		Recv: p.ring.Index != p.root,
		Copy: p.ring.Index == p.root,
		Send: (p.ring.Index+1)%n != p.root,
		In:   p.at,
		Out:  p.at,
		Len:  p.length(),
	}
}

// length returns the elements of this round's chunk where all chunks of a round
// are equal.
func (p *Plan) length() int { return min(p.size, p.count-p.at) }
