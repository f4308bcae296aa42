package nccl

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/gorun/gorun/nccl/internal/core"
)

// Comm is one rank's handle on a communicator and on the stream that its
// operations go to. [Comm.On] and [Comm.Group] give more handles on the same
// communicator. It is safe for concurrent use; since ranks must enqueue in the
// same order, one goroutine should.
type Comm struct {
	s      *seat
	stream *Stream
	group  *group // set in the handle that Group gives
}

// seat is what all handles of one rank on one communicator share.
type seat struct {
	rank, size int
	name       string
	kind       Engine
	engine     core.Comm
	own        *Stream // of the first handle
	timeout    time.Duration
	check      bool // calls are compared
	log        *slog.Logger
	meeting    *meeting // where the ranks met; nil if they keep no contact there

	mu      sync.Mutex
	refused error  // of a call, until a Wait reports it
	open    *group // the group being recorded
	leaving bool   // Finalize or Close has begun

	closing  sync.Once
	closeErr error
}

// newComm returns the first handle on an engine's communicator.
func newComm(engine core.Comm, kind Engine, rank, size int, conf *Config, m *meeting) *Comm {
	s := &seat{rank: rank, size: size, name: conf.Name, kind: kind, engine: engine, timeout: conf.CloseTimeout, check: conf.Check, log: conf.Log, meeting: m}
	s.own = &Stream{engine: engine.NewStream()}
	s.log.Debug("communicator is ready", "comm", s.name, "rank", rank, "size", size, "engine", kind)
	return &Comm{s: s, stream: s.own}
}

// Rank returns this rank's number, 0 … Size-1.
func (c *Comm) Rank() int { return c.s.rank }

// Size returns the number of ranks.
func (c *Comm) Size() int { return c.s.size }

// Name returns the communicator's name.
func (c *Comm) Name() string { return c.s.name }

// Engine returns which engine moves the data; never Auto.
func (c *Comm) Engine() Engine { return c.s.kind }

// Stream returns this handle's stream: the communicator's own, unless On made the handle.
func (c *Comm) Stream() *Stream { return c.stream }

// NewStream returns one more stream on the same device. The caller closes it.
func (c *Comm) NewStream() (*Stream, error) {
	s, err := c.usable("NewStream")
	if err != nil {
		return nil, err
	}
	return &Stream{engine: s.engine.NewStream()}, nil
}

// On returns a handle whose operations go to stream. Operations of one
// communicator run in the order of their calls, on whichever streams they are.
func (c *Comm) On(stream *Stream) *Comm { return &Comm{s: c.s, stream: stream, group: c.group} }

// Err returns nil while the communicator can be used, then the reason why not:
// lost ranks, a stall, an abort, or [ErrClosed].
func (c *Comm) Err() error { return c.s.failure("Comm.Err") }

// Done is closed when Err becomes non-nil.
func (c *Comm) Done() <-chan struct{} { return c.s.engine.Failed() }

// Wait blocks until all that this handle's stream was given is done, and
// returns the first failure or refused call that no Wait has reported. If ctx
// ends first, the communicator is aborted on every rank: a collective cannot be
// taken back by one. Then the error wraps [ErrAborted] and the context's cause.
//
// Wait says nothing of the other ranks, which may still need what this one has
// sent and hear of its end: a process that ends closes the communicator first.
// Where one has just ended after a Wait, operations that complete without it
// are reported as done, and the next call or Wait has the [*LostError].
func (c *Comm) Wait(ctx context.Context) error { return c.wait("Wait", ctx) }

func (c *Comm) wait(op string, ctx context.Context) error {
	s, stream := c.s, c.stream
	if stream == nil {
		return s.error(op, invalid("a handle on a nil Stream"))
	}
	err := s.settle(ctx, stream.engine)
	given := stream.cover()
	if failure := s.engine.Failure(); failure != nil {
		// What all ranks have done is not undone by one that ended after it:
		// that one is missed by the next call.
		_, lost := failure.(*core.LostError)
		if !given || !lost || err != nil {
			return s.error(op, failure)
		}
	}
	if err == nil {
		err = s.report()
	}
	if err == nil {
		err = stream.report()
	}
	return s.error(op, err)
}

// Barrier blocks until every rank has called it and all that this handle's
// stream was given is done. Collective. The end of ctx aborts, as in Wait.
func (c *Comm) Barrier(ctx context.Context) error {
	if _, err := c.admit("Barrier"); err != nil {
		return err
	}
	if c.group != nil {
		return c.s.refuse("Barrier", invalid("a group cannot wait"))
	}
	c.enqueue(core.Call{Kind: core.Barrier, Type: core.Uint8})
	return c.wait("Barrier", ctx)
}

// Abort ends the communicator on every rank and frees it; Close does the rest.
// What is in flight ends with [ErrAborted], and cause's text goes round. Only
// the first failure of a communicator counts.
func (c *Comm) Abort(cause error) {
	c.s.abort(cause)
	c.s.engine.Close()
}

// Finalize blocks until every rank has called it and all operations are done.
// Collective. After it, only Close may follow. The end of ctx aborts, as in
// Wait.
func (c *Comm) Finalize(ctx context.Context) error {
	if _, err := c.admit("Finalize"); err != nil {
		return err
	}
	return c.s.finalize(ctx)
}

// Close finalizes, for Config.CloseTimeout at most, then frees the communicator
// and closes all handles; one that has failed it just frees. It may be
// repeated. Buffers and streams are left alone.
//
// Every rank must close before its process ends, since one that ends without
// is lost to the others. Mind that os.Exit and log.Fatal run no deferred Close.
func (c *Comm) Close() error {
	s := c.s
	s.closing.Do(func() {
		if s.engine.Failure() == nil {
			ctx, cancel := context.WithTimeoutCause(context.Background(), s.timeout, errCloseTimeout)
			defer cancel()
			s.closeErr = s.finalize(ctx)
		}
		err := errors.Join(s.engine.Close(), s.meeting.close())
		if s.closeErr == nil {
			s.closeErr = s.error("Close", err)
		}
	})
	return s.closeErr
}

// errCloseTimeout is the cause of an abort by Close.
var errCloseTimeout = errors.New("the other ranks did not close in time")

// finalize waits until every rank does, and leaves. It has a stream of its own,
// and calls of one communicator run in their order, so all others have ended
// before.
func (s *seat) finalize(ctx context.Context) error {
	s.mu.Lock()
	s.leaving = true
	s.mu.Unlock()
	last := s.engine.NewStream()
	s.engine.Submit(last, core.Call{Kind: core.Barrier, Type: core.Uint8})
	err := s.settle(ctx, last)
	if failure := s.engine.Failure(); failure != nil {
		if _, lost := failure.(*core.LostError); !lost || err != nil {
			return s.error("Finalize", failure)
		}
	}
	s.engine.Leave()
	s.engine.Fail(core.ErrClosed, false)
	return s.report()
}

// settle waits until stream is idle, and aborts the communicator to that end if
// ctx ends first.
func (s *seat) settle(ctx context.Context, stream core.Stream) error {
	err := stream.Wait(ctx)
	if err != nil && ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
		s.abort(context.Cause(ctx))
		err = stream.Wait(context.Background())
	}
	return err
}

// abort ends the communicator on every rank.
func (s *seat) abort(cause error) {
	failure := &core.AbortedError{Rank: s.rank, Cause: cause}
	if cause != nil {
		failure.Reason = cause.Error()
	}
	s.engine.Fail(failure, true)
	if s.engine.Failure() == error(failure) {
		s.log.Warn("communicator is aborted", "comm", s.name, "rank", s.rank, "cause", cause)
		s.meeting.abort(failure.Reason)
	}
}

// usable returns the seat, and an error if the communicator cannot be used.
func (c *Comm) usable(op string) (*seat, error) {
	if c == nil || c.s == nil {
		return nil, &Error{Op: op, Err: invalid("a Comm that Init did not return")}
	}
	if err := c.s.failure(op); err != nil {
		return nil, err
	}
	return c.s, nil
}

// admit is usable for calls that enqueue: it also looks for refused calls, an
// open group and a closed stream.
func (c *Comm) admit(op string) (*seat, error) {
	s, err := c.usable(op)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	refused, open, leaving := s.refused, s.open, s.leaving
	s.mu.Unlock()
	switch {
	case refused != nil:
		return nil, refused
	case leaving:
		return nil, s.error(op, ErrClosed)
	case open != c.group:
		return nil, s.refuse(op, ErrGroupOpen)
	case c.stream == nil:
		return nil, s.refuse(op, invalid("a handle on a nil Stream"))
	}
	if err := c.stream.usable(op); err != nil {
		return nil, s.refuse(op, err)
	}
	return s, nil
}

// enqueue submits an admitted call, or records it in the handle's group.
func (c *Comm) enqueue(call core.Call) {
	c.stream.give()
	if c.group != nil {
		c.group.record(core.Work{On: c.stream.engine, Call: call})
		return
	}
	c.s.engine.Submit(c.stream.engine, call)
}

// failure returns why the communicator cannot be used, as op's error.
func (s *seat) failure(op string) error {
	return s.error(op, s.engine.Failure())
}

// error returns err as an *Error of op on this communicator, nil for nil.
func (s *seat) error(op string, err error) error {
	if err == nil {
		return nil
	}
	if e, ok := err.(*Error); ok {
		return e
	}
	result, err := translate(err)
	return &Error{Op: op, Comm: s.name, Rank: s.rank, Size: s.size, Result: result, Hint: s.hint(err), Err: err}
}

// hint returns what to try where ranks that made different calls are one
// possible reason of err: they wait for each other, or one ends early.
func (s *seat) hint(err error) string {
	_, lost := errors.AsType[*LostError](err)
	_, stall := errors.AsType[*StallError](err)
	if s.check || !lost && !stall && !errors.Is(err, errCloseTimeout) {
		return ""
	}
	return "if the ranks may have made different calls, set Config.Check to find out"
}

// refuse makes the communicator refuse what follows until a Wait has reported
// err, and returns it.
func (s *seat) refuse(op string, err error) error {
	err = s.error(op, err)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused = err
	return err
}

// refusal returns what was refused and not reported yet.
func (s *seat) refusal() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refused
}

// report returns what was refused, once.
func (s *seat) report() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.refused
	s.refused = nil
	return err
}
