package nccl

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"

	"github.com/gorun/gorun/nccl/internal/core"
	"github.com/gorun/gorun/nccl/internal/host"
	"github.com/gorun/gorun/nccl/internal/host/bootstrap"
)

// Init makes the communicator of all ranks of the job. Collective: it blocks
// until every rank has called it, a rank is lost, or ctx ends; after that ctx
// does not matter. That a rank is lost it hears from a Bootstrap that is a
// [LossWatcher], as the job's own is, also of one that has never come: it fails
// with a [*LostError]. The caller closes the Comm.
func Init(ctx context.Context, conf *Config) (*Comm, error) {
	full, err := conf.complete()
	if err != nil {
		return nil, wrap("Init", err)
	}
	p := party{op: "Init", conf: full, key: full.Name, bootstrap: full.Bootstrap}
	if p.bootstrap == nil {
		if p.bootstrap, p.leave, err = openJob(ctx); err != nil {
			return nil, wrap("Init", fmt.Errorf("opening the job: %w", err))
		}
		p.key = names.next(full.Name)
	}
	p.rank, p.size = p.bootstrap.Rank(), p.bootstrap.Size()
	return p.form(ctx, p.meet)
}

// InitRank is Init for ranks that met by themselves: all have the id that one
// of them made with [NewUniqueID]. It needs no Bootstrap; one that is given
// tells of losses and carries aborts. Collective. The caller closes the Comm.
func InitRank(ctx context.Context, rank, size int, ids []UniqueID, conf *Config) (*Comm, error) {
	full, err := conf.complete()
	if err == nil && len(ids) != 1 {
		err = invalid("%d unique ids, want 1", len(ids))
	}
	if err != nil {
		return nil, wrap("InitRank", err)
	}
	defer roots.end(ids[0])
	p := party{op: "InitRank", conf: full, key: full.Name, bootstrap: full.Bootstrap, rank: rank, size: size}
	return p.form(ctx, func(ctx context.Context) (*host.Comm, error) { return p.join(ctx, bootstrap.ID(ids[0])) })
}

// InitAll makes a communicator of n ranks inside this process and returns its
// Comms by rank. The caller closes them, all at once.
func InitAll(ctx context.Context, n int, conf *Config) (Comms, error) {
	full, err := conf.complete()
	if err == nil && (n < 1 || n > bootstrap.MaxSize) {
		err = invalid("%d ranks, want 1 to %d", n, bootstrap.MaxSize)
	}
	if err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return nil, wrap("InitAll", err)
	}
	comms := make(Comms, n)
	for rank, engine := range host.Local(n, full.host()) {
		comms[rank] = newComm(engine, Host, rank, n, full, nil)
	}
	return comms, nil
}

// host returns what the host engine takes of a completed Config.
func (conf *Config) host() host.Config {
	return host.Config{Deadline: conf.Deadline, Check: conf.Check, RankRing: conf.Deterministic}
}

// party is one rank's side of the making of a communicator.
type party struct {
	op         string
	conf       *Config
	key        string       // what the communicator is called at the meeting place
	bootstrap  Bootstrap    // nil: none
	leave      func() error // of a bootstrap that Init opened; else nil
	rank, size int
}

// form makes the communicator by meet, and keeps it in touch with the meeting place.
func (p *party) form(ctx context.Context, meet func(context.Context) (*host.Comm, error)) (*Comm, error) {
	ctx, stop := p.untilLost(ctx)
	engine, err := meet(ctx)
	cause := context.Cause(ctx)
	stop()
	if err != nil {
		return nil, p.fail(err, cause)
	}
	if lost, ok := errors.AsType[*core.LostError](context.Cause(ctx)); ok {
		engine.Fail(lost, true) // it was told as the ranks met, and may not be told again
	}
	var m *meeting
	if p.bootstrap != nil {
		m = attend(engine, p.key, p.bootstrap, p.leave)
	}
	return newComm(engine, Host, p.rank, p.size, p.conf, m), nil
}

// fail leaves the meeting place and returns the *Error of a meeting that
// failed, or ended with its context for a cause.
func (p *party) fail(err, cause error) error {
	if p.leave != nil {
		err = errors.Join(err, p.leave())
	}
	if cause != nil && !errors.Is(err, cause) {
		err = fmt.Errorf("%w: %w", cause, err)
	}
	if lost, ok := errors.AsType[*core.LostError](err); ok {
		err = lost
	}
	result, err := translate(err)
	return &Error{Op: p.op, Comm: p.conf.Name, Rank: p.rank, Size: p.size, Result: result, Err: err}
}

// meet passes rank 0's id to all ranks, and joins them.
func (p *party) meet(ctx context.Context) (*host.Comm, error) {
	if p.size == 1 {
		return p.join(ctx, bootstrap.ID{})
	}
	key := "nccl/" + p.key + "/id"
	if p.rank != 0 {
		value, err := p.bootstrap.Get(ctx, key)
		if err != nil {
			return nil, fmt.Errorf("getting the unique id: %w", err)
		}
		if len(value) != len(bootstrap.ID{}) {
			return nil, fmt.Errorf("the unique id has %d bytes, want %d", len(value), len(bootstrap.ID{}))
		}
		return p.join(ctx, bootstrap.ID(value))
	}
	addr, err := rootAddr(p.bootstrap, p.size)
	if err != nil {
		return nil, err
	}
	root, id, err := bootstrap.Listen(addr)
	if err != nil {
		return nil, fmt.Errorf("listening for the other ranks: %w", err)
	}
	defer root.Close()
	if err := p.bootstrap.Put(ctx, key, id[:]); err != nil {
		return nil, fmt.Errorf("publishing the unique id: %w", err)
	}
	return p.join(ctx, id)
}

// join forms the communicator of an id.
func (p *party) join(ctx context.Context, id bootstrap.ID) (*host.Comm, error) {
	seat := host.Seat{ID: id, Rank: p.rank, Size: p.size, Host: hostName(p.bootstrap)}
	if p.size > 1 {
		root, err := id.Root()
		if err != nil {
			return nil, err
		}
		if seat.Addr, err = rankAddr(p.bootstrap, root); err != nil {
			return nil, err
		}
	}
	return host.Join(ctx, seat, p.conf.host())
}

// untilLost returns a context that ends with ctx, or with a *core.LostError
// when the meeting place hears of a loss. The function that it returns ends the
// listening.
func (p *party) untilLost(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	var listening sync.WaitGroup
	if w, ok := p.bootstrap.(LossWatcher); ok {
		listening.Go(func() {
			if ranks, err := w.Lost(ctx); err == nil {
				cancel(&core.LostError{Ranks: ranks})
			}
		})
	}
	return ctx, func() { cancel(nil); listening.Wait() }
}

// addresser is a Bootstrap that knows this host's address.
type addresser interface{ Addr() netip.Addr }

// names counts the communicators of each name that Init has made by meeting
// places of its own. Every rank counts alike, since Init is collective.
var names nameCounter

type nameCounter struct {
	mu    sync.Mutex
	count map[string]int
}

// next returns name for its first communicator, then name#2 and so on.
func (n *nameCounter) next(name string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.count == nil {
		n.count = make(map[string]int)
	}
	if n.count[name]++; n.count[name] == 1 {
		return name
	}
	return fmt.Sprintf("%s#%d", name, n.count[name])
}
