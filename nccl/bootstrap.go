package nccl

import "context"

// Bootstrap is how ranks that do not know each other yet pass a few bytes: the
// job's meeting place, the key-value space of an MPI, one of your own. It must
// be safe for concurrent use.
//
// One with the method Addr() netip.Addr says at which of this host's addresses
// the other ranks reach it; only there does a rank listen.
type Bootstrap interface {
	Rank() int
	Size() int
	Put(ctx context.Context, key string, value []byte) error // once per key, ≤ 64 KiB
	Get(ctx context.Context, key string) ([]byte, error)     // blocks until some rank has put it
}

// LossWatcher is a Bootstrap that hears of lost ranks, so that hangs become a
// [*LostError].
type LossWatcher interface {
	Lost(ctx context.Context) ([]int, error) // blocks until there are some
}

// Aborter is a Bootstrap that carries an abort to every rank, also when ranks
// cannot reach each other.
type Aborter interface {
	Abort(ctx context.Context, comm, reason string) error
	Aborted(ctx context.Context, comm string) (rank int, reason string, err error) // blocks until one has
}
