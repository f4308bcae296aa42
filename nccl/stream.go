package nccl

import (
	"context"
	"sync"

	"github.com/gorun/gorun/nccl/internal/core"
)

// Stream runs what it is given one after the other. On the host engine it is a
// queue that is worked off by whoever waits for it, else by a goroutine that
// ends when the queue is empty.
//
// When an operation fails, the functions behind it are skipped until a Wait has
// reported the failure.
type Stream struct {
	engine core.Stream

	mu      sync.Mutex
	refused error // of a call, until a Wait reports it
	closed  bool
	given   bool // operations that no Wait of a Comm has covered
}

// give notes that the Stream is given an operation.
func (s *Stream) give() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.given = true
}

// cover notes that all operations are covered by a Wait, and reports whether there were any.
func (s *Stream) cover() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	given := s.given
	s.given = false
	return given
}

// After makes what comes next start when all that the others were given so far is done.
func (s *Stream) After(others ...*Stream) error {
	for _, o := range others {
		if o == nil {
			return s.refuse("Stream.After", invalid("a nil Stream"))
		}
	}
	if err := s.usable("Stream.After"); err != nil {
		return err
	}
	for _, o := range others {
		o.mu.Lock()
		refused := o.refused
		o.mu.Unlock()
		if refused != nil {
			return s.refuse("Stream.After", refused)
		}
		s.engine.After(o.engine.Record())
	}
	return nil
}

// Call enqueues a Go function, which must not call this package. It runs on
// some goroutine, after all that came before.
func (s *Stream) Call(fn func()) error {
	if err := s.usable("Stream.Call"); err != nil {
		return err
	}
	if fn == nil {
		return s.refuse("Stream.Call", invalid("a nil function"))
	}
	s.engine.Call(fn)
	return nil
}

// Record makes e happen when all so far is done. What e was before is forgotten.
func (s *Stream) Record(e *Event) error {
	if err := s.usable("Stream.Record"); err != nil {
		return err
	}
	if e == nil {
		return s.refuse("Stream.Record", invalid("a nil Event"))
	}
	return e.set(s.engine.Record())
}

// WaitEvent makes what comes next start after e, as it was last recorded. An
// Event never recorded holds nothing back.
func (s *Stream) WaitEvent(e *Event) error {
	if err := s.usable("Stream.WaitEvent"); err != nil {
		return err
	}
	if e == nil {
		return s.refuse("Stream.WaitEvent", invalid("a nil Event"))
	}
	m, err := e.mark()
	if err != nil {
		return s.refuse("Stream.WaitEvent", err)
	}
	if m != nil {
		s.engine.After(m)
	}
	return nil
}

// Wait blocks until all that the Stream was given is done, and returns the
// first failure that no Wait has reported. The end of ctx stops the waiting,
// nothing else.
func (s *Stream) Wait(ctx context.Context) error {
	err := s.engine.Wait(ctx)
	if err == nil {
		err = s.report()
	} else if ctx.Err() == nil {
		s.cover() // what failed is reported here, and not done
	}
	return wrap("Stream.Wait", err)
}

// Close ends the Stream without blocking; what it was given still runs. It may
// be repeated.
func (s *Stream) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}

// usable returns why the Stream takes no calls.
func (s *Stream) usable(op string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed && s.refused == nil {
		s.refused = &Error{Op: op, Err: ErrClosed}
	}
	return s.refused
}

// refuse makes the Stream refuse what follows until a Wait has reported err,
// and returns it.
func (s *Stream) refuse(op string, err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused = wrap(op, err)
	return s.refused
}

// report returns what was refused, once.
func (s *Stream) report() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.refused
	s.refused = nil
	return err
}

// wrap returns err as an *Error of op, nil for nil.
func wrap(op string, err error) error {
	if err == nil {
		return nil
	}
	if e, ok := err.(*Error); ok {
		return e
	}
	result, err := translate(err)
	return &Error{Op: op, Result: result, Err: err}
}
