package rendezvous

import (
	"context"
	"fmt"
	"iter"
	"net"

	"github.com/gorun/gorun/rankenv"
)

// Limits of what a job may publish, chosen so that a value travels in one
// message and an agent cannot be filled by one key.
const (
	MaxKey   = 255     // bytes of a key or name; it is not empty
	MaxValue = 1 << 20 // bytes of a value
	MaxRanks = 1 << 20 // of a job
)

// Backend carries Jobs: an agent's job socket, the server of rank 0, a member
// of the cluster of hosts, or [Memory]. Its methods may be called
// concurrently, and those with a context return when it ends. Values that it
// is given stay unchanged until the call returns, and values that it returns
// belong to the caller.
//
// A key that begins with a zero byte is a notice, not a value: the first is
// kept, as ever, but where ranks of different hosts publish different bytes at
// the same moment, each host may keep the first that it saw. [Job.Abort] is
// built on this.
type Backend interface {
	// Open notes that a rank has come, and returns the ranks of the job in the
	// order in which the plan puts them on the ring.
	Open(ctx context.Context, epoch, rank int) (ring []int, err error)
	// Put publishes value under key. The same bytes again are no error, others
	// are ErrExists.
	Put(ctx context.Context, epoch int, key string, value []byte) error
	// Get waits for the value of key. Its *MissingError names ranks that have
	// not opened the job.
	Get(ctx context.Context, epoch int, key string) ([]byte, error)
	// Offer publishes a value of rank that stays on its host until a rank of
	// another asks for it. The same bytes again are no error, others are
	// ErrExists.
	Offer(ctx context.Context, epoch, rank int, key string, value []byte) error
	// Fetch waits for the value that rank offers under key. Its *MissingError
	// names that rank.
	Fetch(ctx context.Context, epoch, rank int, key string) ([]byte, error)
	// Exchange brings rank's value and waits for those of all ranks. A rank
	// whose call ended early may call again with the same value; after a call
	// that returned the values, the name has served: ErrExists.
	Exchange(ctx context.Context, epoch, rank int, name string, value []byte) ([][]byte, error)
	// Barrier is an Exchange of nothing that hands nobody the others' values.
	// Both may meet under one name: one rank of each host exchanges what the
	// host has, say, and its other ranks wait for that at the barrier.
	Barrier(ctx context.Context, epoch, rank int, name string) error
	// Lost waits until ranks of the epoch are lost and returns all that are,
	// ascending.
	Lost(ctx context.Context, epoch int) ([]int, error)
	// Events yields the events since the epoch began, and then those to come,
	// of later epochs too. It ends with the error of its context.
	Events(ctx context.Context, epoch int) iter.Seq2[Event, error]
	// NextEpoch waits for the epoch after that one, which begins when all its
	// living ranks have called, and returns the place of rank in it, as far as
	// the plan tells it, and the ranks that have none, in the old numbers. All
	// other calls for the old epoch are ErrStale from then on, those that wait
	// too. Its *MissingError names ranks that have not called.
	NextEpoch(ctx context.Context, after, rank int) (w rankenv.World, departed []int, err error)
}

// Attendant is what a Backend may be besides, to know which ranks are connected:
// whose connection ends without [Job.Close] is perhaps a rank that was killed, long
// before whatever started its program has noticed.
type Attendant interface {
	// Attend is called by [Serve] for each connection once, with the number by
	// which the rank came, in that epoch; and what it returns when the connection
	// has ended, with whether the Job was closed. That is not called if Serve ends
	// first. Until then conn may be asked for its state, not read or written. Both
	// must not block.
	Attend(epoch, rank int, conn net.Conn) (left func(closed bool))
}

// Host is one host of the plan.
type Host struct {
	Name  string
	Ranks []int // in the order in which they stand on the ring
}

// CheckValue returns why value cannot be published under key, for a Backend to
// refuse it. It is nil if it can.
func CheckValue(key string, value []byte) error {
	switch {
	case key == "":
		return fmt.Errorf("rendezvous: key is empty")
	case len(key) > MaxKey:
		return fmt.Errorf("rendezvous: key %.32q… has %d bytes, at most %d are allowed", key, len(key), MaxKey)
	case len(value) > MaxValue:
		return fmt.Errorf("rendezvous: value of %q has %d bytes, at most %d are allowed", key, len(value), MaxValue)
	}
	return nil
}
