package host

import (
	"slices"
	"time"

	"github.com/gorun/gorun/nccl/internal/core"
)

// drainTime is how long calls may go on after a loss was told. It bounds what
// is waited for in vain where a host has gone without a word; a rank whose link
// to the lost one has ended needs none of it.
const drainTime = time.Second

// A rank that has finished a call may end before the others have: all that they
// need from it is on its way to them, and only its absence is told sooner. So a
// loss refuses new calls at once, and ends those submitted before only when
// they really miss something: a link that they need is broken, or drainTime is
// over. A call that completes has the result that it would have had.

// drain lets calls go on after a loss, for a while. c.mu is held.
func (c *Comm) drain() {
	patience := c.conf.patience
	if patience == 0 {
		patience = drainTime
	}
	c.draining.Add(1)
	c.drainer = time.AfterFunc(patience, func() {
		defer c.draining.Done()
		c.giveUp()
	})
}

// giveUp ends the calls of a communicator that has failed.
func (c *Comm) giveUp() {
	c.mu.Lock()
	streams := c.end()
	c.mu.Unlock()
	c.rouse(streams)
}

// end makes run end all calls, and returns the streams to rouse. c.mu is held.
func (c *Comm) end() []*stream {
	c.over = true
	return slices.Clone(c.streams)
}

// rouse makes who waits for a call look at the state of the communicator.
func (c *Comm) rouse(streams []*stream) {
	c.machine.port.Wake()
	for _, s := range streams {
		s.poke()
	}
}

// stopDraining ends the timer and waits for what it runs.
func (c *Comm) stopDraining() {
	c.mu.Lock()
	timer := c.drainer
	c.mu.Unlock()
	if timer != nil && timer.Stop() {
		c.draining.Done()
	}
	c.draining.Wait()
}

// isLoss reports whether a failure is that of lost ranks.
func isLoss(failure error) bool {
	_, ok := failure.(*core.LostError)
	return ok
}
