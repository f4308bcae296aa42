package host

import (
	"context"
	"sync"
	"time"

	"github.com/gorun/gorun/nccl/internal/core"
)

// The life of a task:
//
//  1. It is pushed on a stream's queue. If nobody drives the stream, the goroutine that pushed it does, without waiting: a call
//     that finds the other ranks' bytes there already is done when Submit returns. Functions are not run at this point.
//  2. What is left is driven by the first that comes: a goroutine in Wait, or after workDelay the stream's worker. So a call and
//     its Wait never leave the caller's goroutine, and progress needs no Wait.
//  3. Whoever drives owns the queue's head (driving is set) until the queue is empty or, in Wait, what it waits for has ended.
//
// Locks are taken in the order Comm.mu, stream.mu, mark.mu; functions and steps
// of calls run without any. A worker ends when its stream is empty, so streams
// hold no goroutine at rest.

// workDelay is how long a Wait may take to come before the stream's worker
// starts: a little more than a small call takes.
const workDelay = 50 * time.Microsecond

// stream is a core.Stream.
type stream struct {
	worker *time.Timer // runs work

	mu      sync.Mutex
	changed sync.Cond // of any field below
	queue   []task    // head … are to do
	head    int
	pushed  uint64 // tasks ever
	ended   uint64 // tasks ever
	driving bool
	armed   bool  // worker will run
	poked   bool  // what the head waits for may have changed
	err     error // the first failure that no Wait has reported
}

// task is one thing to do: a call if comm is set, a function, a mark to reach,
// or a mark of another stream to wait for.
type task struct {
	comm  *Comm
	call  core.Call
	seq   uint64
	fn    func()
	reach *mark
	after *mark
}

func newStream() *stream {
	s := &stream{}
	s.changed.L = &s.mu
	s.worker = time.AfterFunc(time.Hour, s.work)
	s.worker.Stop()
	return s
}

func (s *stream) Call(fn func()) {
	s.push(task{fn: fn})
	s.try()
}

func (s *stream) Record() core.Mark {
	m := &mark{on: s}
	s.push(task{reach: m})
	s.try()
	return m
}

func (s *stream) After(m core.Mark) {
	s.push(task{after: m.(*mark)})
	s.try()
}

func (s *stream) Wait(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	target := s.pushed
	if s.ended < target && ctx.Done() != nil {
		defer context.AfterFunc(ctx, s.interrupt)()
	}
	for s.ended < target {
		if ctx.Err() != nil {
			s.arm(0)
			return context.Cause(ctx)
		}
		if s.driving {
			s.changed.Wait()
			continue
		}
		s.drive(ctx, target)
	}
	err := s.err
	s.err = nil
	return err
}

// push adds a task.
func (s *stream) push(t task) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.head == len(s.queue) || s.head > 0 && len(s.queue) == cap(s.queue) {
		n := copy(s.queue, s.queue[s.head:])
		clear(s.queue[n:])
		s.queue, s.head = s.queue[:n], 0
	}
	s.queue = append(s.queue, t)
	s.pushed++
}

// try drives the stream on the caller's goroutine as far as it goes at once,
// and leaves the rest to whoever comes.
func (s *stream) try() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.driving {
		return
	}
	s.driving = true
	for s.head < len(s.queue) && s.queue[s.head].fn == nil && s.step(false) {
	}
	s.driving = false
	if s.head < len(s.queue) {
		s.arm(workDelay)
	}
	s.changed.Broadcast()
}

// start makes sure that somebody drives the stream.
func (s *stream) start() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.head < len(s.queue) && !s.driving {
		s.arm(0)
	}
}

// arm starts the worker after a delay, if the stream has something to do. s.mu is held.
func (s *stream) arm(delay time.Duration) {
	if s.head == len(s.queue) || s.armed && delay > 0 {
		return
	}
	s.armed = true
	s.worker.Reset(delay)
}

// work is the stream's worker.
func (s *stream) work() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.armed = false
	if !s.driving {
		s.drive(context.Background(), s.pushed)
	}
}

// drive runs the head of the queue until target tasks have ended or ctx ends.
// s.mu is held, and given up in between.
func (s *stream) drive(ctx context.Context, target uint64) {
	s.driving = true
	for s.ended < target && ctx.Err() == nil {
		s.step(true)
	}
	s.driving = false
	s.arm(workDelay)
	s.changed.Broadcast()
}

// step takes the head of the queue further, waiting at most once if block is
// set. It reports whether the task has ended. s.mu is held, and given up in
// between.
func (s *stream) step(block bool) bool {
	t := &s.queue[s.head]
	s.poked = false
	switch {
	case t.comm != nil:
		c, seq, call := t.comm, t.seq, t.call
		s.mu.Unlock()
		state, err := c.run(s, seq, call, block)
		s.mu.Lock()
		switch {
		case state == ended:
			s.fail(err)
		case state == waiting && block:
			s.waitPoke()
			return false
		default:
			return false
		}
	case t.fn != nil:
		if s.err == nil {
			s.runFunc(t.fn)
		}
	case t.reach != nil:
		m, err := t.reach, s.err
		s.mu.Unlock()
		m.reach(err)
		s.mu.Lock()
	case t.after != nil:
		on := t.after.on
		ok, err := t.after.await(s)
		if !ok {
			if block {
				s.mu.Unlock()
				on.start()
				s.mu.Lock()
				s.waitPoke()
			}
			return false
		}
		s.fail(err)
	}
	s.pop()
	return true
}

// runFunc runs a function without the lock. If it panics or ends its goroutine,
// the stream goes on without it.
func (s *stream) runFunc(fn func()) {
	s.mu.Unlock()
	returned := false
	defer func() {
		s.mu.Lock()
		if !returned {
			s.pop()
			s.driving = false
			s.arm(0)
			s.changed.Broadcast()
		}
	}()
	fn()
	returned = true
}

// pop ends the task at the head. s.mu is held.
func (s *stream) pop() {
	s.queue[s.head] = task{}
	s.head++
	s.ended++
}

// fail notes a failure, unless there is one. s.mu is held.
func (s *stream) fail(err error) {
	if s.err == nil {
		s.err = err
	}
}

// waitPoke blocks until what the head waits for may have changed. s.mu is held.
func (s *stream) waitPoke() {
	for !s.poked {
		s.changed.Wait()
	}
}

// poke says that what the head waits for may have changed.
func (s *stream) poke() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.poked = true
	s.changed.Broadcast()
	if !s.driving {
		s.arm(workDelay)
	}
}

// interrupt makes whoever drives or waits look at its context.
func (s *stream) interrupt() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.poked = true
	s.changed.Broadcast()
	if s.head < len(s.queue) {
		if c := s.queue[s.head].comm; c != nil {
			c.machine.port.Wake()
		}
	}
}
