package host

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/gorun/gorun/nccl/internal/core"
	"github.com/gorun/gorun/nccl/internal/host/control"
	"github.com/gorun/gorun/nccl/internal/host/fabric"
	"github.com/gorun/gorun/nccl/internal/host/sched"
)

// brokenGrace is how long a rank whose link broke waits to hear why before it
// calls the neighbour lost. What ended the link is told over the control ring
// at the same moment.
const brokenGrace = time.Second

// Comm is one rank's end of a communicator of the host engine: a core.Comm.
// Make it with [Join] or [Local].
type Comm struct {
	rank, size int
	conf       Config
	control    control.Control
	machine    machine // driven by whoever runs the call whose turn it is
	failed     chan struct{}
	watch      *watchdog // nil without a deadline
	checker    *checker  // nil without Config.Check
	checking   bool      // the machine runs the checker's call; like the machine, of whoever drives it

	mu      sync.Mutex
	free    sync.Cond // running became false
	issued  uint64    // calls ever submitted
	turn    uint64    // calls ever ended: the next may run
	entered uint64    // the last call that this rank began
	streams []*stream // of the calls that have not ended, in order
	running bool      // the machine is in use
	closed  bool
	failure error
	over    bool        // calls end with the failure; false meanwhile they drain
	drainer *time.Timer // ends the draining; nil before a loss

	draining sync.WaitGroup // what drainer runs
}

// newComm returns the Comm at one seat of a ring. It needs its control before
// its first call.
func newComm(ring sched.Ring, port fabric.Port, conf Config) *Comm {
	c := &Comm{
		rank:    ring.Order[ring.Index],
		size:    ring.Size(),
		conf:    conf,
		machine: machine{ring: ring, port: port},
		failed:  make(chan struct{}),
	}
	c.free.L = &c.mu
	if conf.Check {
		c.checker = newChecker(c.size)
	}
	if conf.Deadline > 0 {
		c.watch = newWatchdog(c, conf.Deadline)
	}
	return c
}

// NewStream returns an empty stream.
func (c *Comm) NewStream() core.Stream { return newStream() }

// Alloc returns size bytes of the Go heap, zeroed again when they are freed:
// who kept a slice of them sees nothing of others. More than the host has is
// refused: asked for it, the Go runtime would end the process.
func (c *Comm) Alloc(size int) (*core.Memory, error) {
	if limit := memoryLimit(); uint64(size) > limit {
		return nil, fmt.Errorf("%d bytes are more than the %d of this host", size, limit)
	}
	bytes := make([]byte, size)
	return core.NewMemory(bytes, func() { clear(bytes) }), nil
}

// Submit enqueues a call and tries it at once.
func (c *Comm) Submit(on core.Stream, call core.Call) {
	s := on.(*stream)
	c.mu.Lock()
	c.enqueue(s, call)
	c.mu.Unlock()
	s.try()
}

// SubmitAll enqueues work and tries it at once.
func (c *Comm) SubmitAll(work []core.Work) {
	c.mu.Lock()
	for _, w := range work {
		c.enqueue(w.On.(*stream), w.Call)
	}
	c.mu.Unlock()
	for _, w := range work {
		w.On.(*stream).try()
	}
}

// enqueue gives a call its number and puts it on s. c.mu is held, so that
// numbers and queues have one order.
func (c *Comm) enqueue(s *stream, call core.Call) {
	c.issued++
	c.streams = append(c.streams, s)
	s.push(task{comm: c, call: call, seq: c.issued})
}

// state is how far a call has come.
type state int

const (
	ended   state = iota
	working       // it needs the other ranks
	waiting       // it is not its turn; its stream will be poked
)

// run takes call seq of stream s further, waiting for other ranks at most once
// if block is set.
func (c *Comm) run(s *stream, seq uint64, call core.Call, block bool) (state, error) {
	c.mu.Lock()
	if c.over {
		defer c.mu.Unlock()
		call.Release()
		return ended, c.failure
	}
	if seq != c.turn+1 {
		c.mu.Unlock()
		return waiting, nil
	}
	enter := c.entered != seq
	c.entered = seq
	c.running = true
	c.mu.Unlock()

	if enter {
		c.enter(seq, call)
	}
	finished, err := c.advance(block)
	if finished && c.checking {
		finished, err = c.checked(seq, call, block)
	}

	c.mu.Lock()
	c.running = false
	c.free.Broadcast()
	if !finished {
		c.mu.Unlock()
		if err != nil && block {
			c.broken()
		}
		return working, nil
	}
	next := c.pass()
	c.mu.Unlock()
	call.Release()
	if next != nil && next != s {
		next.poke()
	}
	return ended, nil
}

// enter begins a call.
func (c *Comm) enter(seq uint64, call core.Call) {
	c.watch.enter(seq, call.Kind)
	if c.checker != nil {
		c.checking = true
		call = c.checker.gather(call)
	}
	c.machine.start(call)
}

// checked begins the call whose signatures have been exchanged, unless they
// differ. Then all ranks know, and none has begun.
func (c *Comm) checked(seq uint64, call core.Call, block bool) (finished bool, err error) {
	c.checking = false
	if err := c.checker.mismatch(seq); err != nil {
		c.Fail(err, false)
		return false, nil
	}
	c.machine.start(call)
	return c.advance(block)
}

// tryRounds is how many chunks a goroutine that enqueues may move: a small call
// in one go, and of a large one no more than what the links hold, so that the
// caller gets back to its own work.
const tryRounds = 4

// advance drives the machine until it is done, or needs to wait; if block is
// set it then waits, once.
func (c *Comm) advance(block bool) (finished bool, err error) {
	if !block {
		return c.machine.advance(tryRounds)
	}
	finished, err = c.machine.advance(0)
	for range c.machine.port.Spin() {
		if finished || err != nil {
			return finished, err
		}
		runtime.Gosched()
		finished, err = c.machine.advance(0)
	}
	if !finished && err == nil {
		c.machine.wait()
	}
	return finished, err
}

// pass gives the turn to the next call and returns its stream, nil if there is
// none. c.mu is held.
func (c *Comm) pass() *stream {
	c.turn++
	copy(c.streams, c.streams[1:])
	c.streams[len(c.streams)-1] = nil
	c.streams = c.streams[:len(c.streams)-1]
	if len(c.streams) == 0 {
		return nil
	}
	return c.streams[0]
}

// broken waits for the reason why a link broke, and blames the neighbours if
// none comes. The call that needs the link cannot end well.
func (c *Comm) broken() {
	defer c.giveUp()
	grace := time.NewTimer(brokenGrace)
	defer grace.Stop()
	select {
	case <-c.failed:
	case <-grace.C:
		ranks := []int{c.machine.ring.Prev(), c.machine.ring.Next()}
		slices.Sort(ranks)
		ranks = slices.Compact(ranks)
		c.Fail(&core.LostError{Ranks: ranks}, true)
	}
}

// Fail ends the communicator here, and on the other ranks if spread is set.
// Calls in flight when a loss is told drain; a second failure that is none ends
// that.
func (c *Comm) Fail(reason error, spread bool) {
	reason = c.conf.locate(reason)
	c.mu.Lock()
	first := c.failure == nil
	if first {
		c.failure = reason
		close(c.failed)
	}
	var streams []*stream
	switch {
	case !isLoss(reason):
		streams = c.end()
	case first:
		c.drain()
	}
	c.mu.Unlock()

	c.rouse(streams)
	if first && spread {
		c.control.Spread(reason)
	}
}

// Failure returns why the communicator ended.
func (c *Comm) Failure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failure
}

// Failed is closed when Failure becomes non-nil.
func (c *Comm) Failed() <-chan struct{} { return c.failed }

// Entered returns the number of the last call that this rank began. It is what
// control asks a member for.
func (c *Comm) Entered() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.entered
}

// Leave says goodbye: this rank will not be missed.
func (c *Comm) Leave() { c.control.Leave() }

// Close frees links and goroutines.
func (c *Comm) Close() error {
	c.Fail(core.ErrClosed, false)
	c.mu.Lock()
	for c.running {
		c.free.Wait()
	}
	again := c.closed
	c.closed = true
	c.mu.Unlock()
	if again {
		return nil
	}
	c.watch.stop()
	c.stopDraining()
	c.control.Close()
	return c.machine.port.Close()
}

// finished reports whether call seq has ended.
func (c *Comm) finished(seq uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.turn >= seq || c.failure != nil
}
