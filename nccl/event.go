package nccl

import (
	"context"
	"sync"
	"time"

	"github.com/gorun/gorun/nccl/internal/core"
)

// Event is a point in a stream. The zero Event is ready for [Stream.Record].
type Event struct {
	mu       sync.Mutex
	recorded core.Mark // nil before the first Record
	closed   bool
}

// Done reports whether the Event has happened. It does not block. The error is
// a failure before it in its stream.
func (e *Event) Done() (bool, error) {
	m, err := e.mark()
	if err != nil || m == nil {
		return false, wrap("Event.Done", err)
	}
	_, ok, err := m.Reached()
	return ok, wrap("Event.Done", err)
}

// Wait blocks until the Event has happened, and returns a failure before it in
// its stream. The end of ctx stops the waiting, nothing else. An Event never
// recorded is [ErrInvalid].
func (e *Event) Wait(ctx context.Context) error {
	m, err := e.mark()
	if err == nil && m == nil {
		err = invalid("the Event was not recorded")
	}
	if err != nil {
		return wrap("Event.Wait", err)
	}
	return wrap("Event.Wait", m.Wait(ctx))
}

// Since returns the time from start to e, both of which must have happened.
func (e *Event) Since(start *Event) (time.Duration, error) {
	var at [2]time.Time
	for i, ev := range []*Event{start, e} {
		m, err := ev.mark()
		if err != nil {
			return 0, wrap("Event.Since", err)
		}
		ok := false
		if m != nil {
			at[i], ok, _ = m.Reached()
		}
		if !ok {
			return 0, wrap("Event.Since", invalid("an Event has not happened yet"))
		}
	}
	return at[1].Sub(at[0]), nil
}

// Close ends the use of the Event. It may be repeated.
func (e *Event) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.recorded, e.closed = nil, true
	return nil
}

// set makes m what the Event stands for.
func (e *Event) set(m core.Mark) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return &Error{Op: "Stream.Record", Err: ErrClosed}
	}
	e.recorded = m
	return nil
}

// mark returns what the Event stands for, nil before the first Record.
func (e *Event) mark() (core.Mark, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, ErrClosed
	}
	return e.recorded, nil
}
