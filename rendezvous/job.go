package rendezvous

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/gorun/gorun/rankenv"
)

// Job is one epoch of a job, seen by one rank. It is an nccl.Bootstrap, an
// nccl.LossWatcher and an nccl.Aborter. Its methods may be called concurrently.
type Job struct {
	backend  Backend
	world    rankenv.World
	epoch    int
	departed []int
	ring     []int
	err      error // of opening: then of all calls

	life  context.Context // ends at Close
	end   context.CancelFunc
	leave func() error // ends what Open made; nil: nothing
	over  atomic.Bool  // the next epoch's Job leaves instead
}

// New returns the Job of the rank that w names on any Backend, which Close
// leaves open. If the Backend refuses the rank, every call says why.
func New(b Backend, w rankenv.World) *Job {
	return open(context.Background(), b, w, 0)
}

func open(ctx context.Context, b Backend, w rankenv.World, epoch int) *Job {
	j := &Job{backend: b, world: w, epoch: epoch}
	j.life, j.end = context.WithCancel(context.Background())
	if j.ring, j.err = b.Open(ctx, epoch, w.Rank); j.err == nil && len(j.ring) != w.Size {
		j.err = fmt.Errorf("rendezvous: rank %d of %d opened a job of %d ranks", w.Rank, w.Size, len(j.ring))
	}
	return j
}

// World returns the rank's place in this epoch of the job, which may differ from
// the one that its environment tells.
func (j *Job) World() rankenv.World {
	w := j.world
	w.GPUs = slices.Clone(w.GPUs)
	return w
}

// Rank returns the number of this rank, from 0.
func (j *Job) Rank() int { return j.world.Rank }

// Size returns the number of ranks.
func (j *Job) Size() int { return j.world.Size }

// Epoch returns the number of the epoch, from 0.
func (j *Job) Epoch() int { return j.epoch }

// Departed returns the ranks of the last epoch, in its numbers, that are not in
// this one.
func (j *Job) Departed() []int { return slices.Clone(j.departed) }

// Addr returns the address at which ranks of other hosts reach this one, to
// bind and to publish. It is not valid if nobody said.
func (j *Job) Addr() netip.Addr {
	addr, err := netip.ParseAddr(j.world.Addr)
	if err != nil {
		return netip.Addr{}
	}
	return addr
}

// bind returns a context that ends with ctx and with the Job.
func (j *Job) bind(ctx context.Context) (context.Context, func(), error) {
	if j.life.Err() != nil {
		return nil, nil, ErrClosed
	}
	if j.err != nil {
		return nil, nil, j.err
	}
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(j.life, cancel)
	return ctx, func() { stop(); cancel() }, nil
}

// call runs one blocking call of the backend within the life of the Job.
func (j *Job) call(ctx context.Context, f func(context.Context) error) error {
	ctx, release, err := j.bind(ctx)
	if err != nil {
		return err
	}
	defer release()
	err = f(ctx)
	if err != nil && j.life.Err() != nil {
		return ErrClosed
	}
	return err
}

// checkName keeps users out of the keys that Job itself uses.
func checkName(what, name string) error {
	if strings.HasPrefix(name, "\x00") {
		return fmt.Errorf("rendezvous: %s %q begins with a zero byte, which is reserved", what, name)
	}
	return nil
}

// Put publishes a copy of value, at most [MaxValue] bytes, under key, at most
// [MaxKey]. It may be repeated with the same bytes; others are ErrExists. It
// returns when this host knows the value, and does not wait for the others.
//
// Two ranks that publish different bytes under one key are a mistake. On one
// host the second gets ErrExists; of two hosts, which cannot know of each other
// at once, both may get nil, and every later Get and Put is ErrExists.
func (j *Job) Put(ctx context.Context, key string, value []byte) error {
	if err := checkName("key", key); err != nil {
		return err
	}
	return j.call(ctx, func(ctx context.Context) error {
		return j.backend.Put(ctx, j.epoch, key, value)
	})
}

// Get blocks until key is published and returns its value, which is the
// caller's. If ctx ends first, the error is a *MissingError.
func (j *Job) Get(ctx context.Context, key string) (value []byte, err error) {
	if err := checkName("key", key); err != nil {
		return nil, err
	}
	err = j.call(ctx, func(ctx context.Context) error {
		value, err = j.backend.Get(ctx, j.epoch, key)
		return err
	})
	return value, err
}

// Offer publishes a copy of value, at most [MaxValue] bytes, as this rank's own
// under key, at most [MaxKey]. It stays on this host until a rank of another
// asks for it, so that each of many thousand ranks may offer something of which
// each needs little. It may be repeated with the same bytes; others are
// ErrExists.
func (j *Job) Offer(ctx context.Context, key string, value []byte) error {
	if err := checkName("key", key); err != nil {
		return err
	}
	return j.call(ctx, func(ctx context.Context) error {
		return j.backend.Offer(ctx, j.epoch, j.world.Rank, key, value)
	})
}

// Fetch blocks until rank offers a value under key and returns it; it is the
// caller's. If ctx ends first, the error is a *MissingError that names the rank.
func (j *Job) Fetch(ctx context.Context, rank int, key string) (value []byte, err error) {
	if err := checkName("key", key); err != nil {
		return nil, err
	}
	err = j.call(ctx, func(ctx context.Context) error {
		value, err = j.backend.Fetch(ctx, j.epoch, rank, key)
		return err
	})
	return value, err
}

// Exchange brings this rank's value, at most [MaxValue] bytes, and blocks for
// those of all ranks, which it returns by rank. A name serves once, for an
// exchange or a barrier. If ctx ends first, the error is a *MissingError, this
// rank's value stays, and the call may be repeated with it. Where a rank needs
// few of the others' values, Offer and Fetch bring it no more than those.
func (j *Job) Exchange(ctx context.Context, name string, value []byte) ([][]byte, error) {
	if err := checkName("name", name); err != nil {
		return nil, err
	}
	return j.exchange(ctx, fmt.Sprintf("exchange %q", name), name, value)
}

// Barrier blocks until every rank has come. A name serves once: what a barrier
// leaves behind is kept as long as the job, so a loop should use the barrier of
// its communicator. If ctx ends first, the error is a *MissingError, and the
// call may be repeated.
func (j *Job) Barrier(ctx context.Context, name string) error {
	if err := checkName("name", name); err != nil {
		return err
	}
	err := j.call(ctx, func(ctx context.Context) error {
		return j.backend.Barrier(ctx, j.epoch, j.world.Rank, name)
	})
	if missing, ok := errors.AsType[*MissingError](err); ok {
		missing.What = fmt.Sprintf("barrier %q", name)
	}
	return err
}

// Ring publishes where this rank listens and blocks for the ring: the addresses
// by rank, and the ranks in the order in which the plan puts them on it. It
// serves once.
func (j *Job) Ring(ctx context.Context, addr string) (addrs []string, order []int, err error) {
	values, err := j.exchange(ctx, "ring", "\x00ring", []byte(addr))
	if err != nil {
		return nil, nil, err
	}
	addrs = make([]string, len(values))
	for i, v := range values {
		addrs[i] = string(v)
	}
	return addrs, slices.Clone(j.ring), nil
}

// exchange is an exchange of the backend, called what in errors.
func (j *Job) exchange(ctx context.Context, what, name string, value []byte) (values [][]byte, err error) {
	err = j.call(ctx, func(ctx context.Context) error {
		values, err = j.backend.Exchange(ctx, j.epoch, j.world.Rank, name, value)
		return err
	})
	if missing, ok := errors.AsType[*MissingError](err); ok {
		missing.What = what
	}
	return values, err
}

// Events yields the events since the epoch began and then those to come, of
// later epochs too, which may be after NextEpoch. It ends when ctx does, with its error, or with ErrClosed.
func (j *Job) Events(ctx context.Context) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		ctx, release, err := j.bind(ctx)
		if err != nil {
			yield(Event{}, err)
			return
		}
		defer release()
		for ev, err := range j.backend.Events(ctx, j.epoch) {
			if err != nil && j.life.Err() != nil {
				err = ErrClosed
			}
			if !yield(ev, err) {
				return
			}
		}
	}
}

// Lost blocks until ranks of this epoch are lost, and returns all that are,
// ascending. Only the launcher's verdict makes a rank lost.
func (j *Job) Lost(ctx context.Context) (ranks []int, err error) {
	err = j.call(ctx, func(ctx context.Context) error {
		ranks, err = j.backend.Lost(ctx, j.epoch)
		return err
	})
	return ranks, err
}

// Abort tells every rank that the communicator of that name is over, and why.
// The first reason on a host is the one that its ranks hear; a later Abort is
// not an error.
func (j *Job) Abort(ctx context.Context, comm, reason string) error {
	value := binary.BigEndian.AppendUint32(nil, uint32(j.world.Rank))
	value = append(value, reason[:min(len(reason), MaxValue-4)]...)
	err := j.call(ctx, func(ctx context.Context) error {
		return j.backend.Put(ctx, j.epoch, abortKey(comm), value)
	})
	if errors.Is(err, ErrExists) {
		return nil
	}
	return err
}

// Aborted blocks until a rank has aborted the communicator of that name, and
// returns which and why.
func (j *Job) Aborted(ctx context.Context, comm string) (rank int, reason string, err error) {
	var value []byte
	err = j.call(ctx, func(ctx context.Context) error {
		value, err = j.backend.Get(ctx, j.epoch, abortKey(comm))
		return err
	})
	if missing, ok := errors.AsType[*MissingError](err); ok {
		missing.What = fmt.Sprintf("abort of %q", comm)
	}
	if err != nil {
		return 0, "", err
	}
	if len(value) < 4 {
		return 0, "", fmt.Errorf("rendezvous: malformed abort of %q", comm)
	}
	return int(binary.BigEndian.Uint32(value)), string(value[4:]), nil
}

// abortKey is a notice, see Backend: several ranks abort at the same moment.
func abortKey(comm string) string { return "\x00abort/" + comm }

// NextEpoch goes on without the ranks that are lost, or have ended. It blocks
// until every living rank has called it and returns the Job of the next epoch, in
// which those ranks are numbered from 0, in the order that they had. Nothing that
// was published lives on. j is over: its calls, those that are blocked too, are
// ErrStale, and what Close leaves is the new Job. If ctx ends first, the error is
// a *MissingError, and the call may be repeated.
//
// The job must have been started to go on when ranks fail (gorun --on-failure
// continue): otherwise the launcher ends it.
func (j *Job) NextEpoch(ctx context.Context) (*Job, error) {
	var w rankenv.World
	var departed []int
	err := j.call(ctx, func(ctx context.Context) (err error) {
		w, departed, err = j.backend.NextEpoch(ctx, j.epoch, j.world.Rank)
		return err
	})
	if err != nil {
		return nil, err
	}
	world := j.World()
	world.Rank, world.Size = w.Rank, w.Size
	world.LocalRank, world.LocalSize = w.LocalRank, w.LocalSize
	world.Node, world.Nodes = w.Node, w.Nodes
	if slices.Contains(departed, 0) {
		world.Master = "" // its host has another rank 0, or none
	}
	next := open(ctx, j.backend, world, j.epoch+1)
	if next.err != nil {
		return nil, next.err
	}
	next.departed, next.leave = departed, j.leave
	if j.over.Swap(true) {
		next.leave = nil // another call has it
	}
	return next, nil
}

// Close leaves the job and ends blocked calls with ErrClosed. It may be
// repeated.
func (j *Job) Close() error {
	j.end()
	if j.leave != nil && !j.over.Load() {
		return j.leave()
	}
	return nil
}
