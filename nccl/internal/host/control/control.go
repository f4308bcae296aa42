// Package control tells every rank of a communicator how it ended: that a rank
// was lost, aborted it, or keeps the others waiting. Data and control have
// links of their own, so this also works when data stands still.
//
// A rank has a [Control]. Inside a process it is one of [Local]; between
// processes it is a [Ring].
package control

// Control is one rank's voice and ear among the others.
type Control interface {
	// Spread tells all other ranks why the communicator failed. It does not
	// wait for them.
	Spread(failure error)
	// Behind returns the ranks that have not entered call seq or do not say, in
	// order. It waits for their answers, for a bounded time.
	Behind(seq uint64) []int
	// Leave says goodbye to all others: this rank's end is no loss.
	Leave()
	// Close ends all goroutines, when what was said is on its way.
	Close()
}

// Member is the rank that a Control belongs to. It is called from Control's
// goroutines and must not block.
type Member interface {
	// Fail says why the communicator has failed, as another rank told or as
	// this one found out. Spread is false: all others have been told.
	Fail(failure error, spread bool)
	// Entered returns the number of the last call that the rank has begun.
	Entered() uint64
}

// Local returns the Controls of ranks inside this process: the in-memory twin of Ring.
func Local(members []Member) []Control {
	controls := make([]Control, len(members))
	for rank := range members {
		controls[rank] = &local{rank: rank, members: members}
	}
	return controls
}

type local struct {
	rank    int
	members []Member
}

func (l *local) Spread(failure error) {
	for rank, m := range l.members {
		if rank != l.rank {
			m.Fail(failure, false)
		}
	}
}

func (l *local) Behind(seq uint64) []int {
	var behind []int
	for rank, m := range l.members {
		if m.Entered() < seq {
			behind = append(behind, rank)
		}
	}
	return behind
}

func (l *local) Leave() {}

func (l *local) Close() {}
