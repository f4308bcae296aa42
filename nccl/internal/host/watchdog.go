package host

import (
	"sync"
	"time"

	"github.com/gorun/gorun/nccl/internal/core"
)

// watchdog ends a communicator one of whose calls takes too long. Its timer is
// set once for many calls: when it fires it looks which call is running and
// since when. A nil watchdog watches nothing.
type watchdog struct {
	comm     *Comm
	deadline time.Duration
	timer    *time.Timer
	looking  sync.WaitGroup

	mu      sync.Mutex
	armed   bool
	stopped bool
	seq     uint64 // the call entered last
	kind    core.Kind
	since   time.Time
}

func newWatchdog(c *Comm, deadline time.Duration) *watchdog {
	w := &watchdog{comm: c, deadline: deadline}
	w.timer = time.AfterFunc(deadline, w.look)
	w.timer.Stop()
	return w
}

// enter notes that a call begins.
func (w *watchdog) enter(seq uint64, kind core.Kind) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seq, w.kind, w.since = seq, kind, time.Now()
	if !w.armed && !w.stopped {
		w.armed = true
		w.timer.Reset(w.deadline)
	}
}

// look is run by the timer.
func (w *watchdog) look() {
	w.mu.Lock()
	w.armed = false
	if w.stopped || w.comm.finished(w.seq) {
		w.mu.Unlock()
		return
	}
	if left := w.deadline - time.Since(w.since); left > 0 {
		w.armed = true
		w.timer.Reset(left)
		w.mu.Unlock()
		return
	}
	w.looking.Add(1)
	defer w.looking.Done()
	stall := &core.StallError{Op: w.kind.String(), Seq: w.seq}
	w.mu.Unlock()

	stall.Missing = w.comm.control.Behind(stall.Seq)
	if w.comm.finished(stall.Seq) {
		return
	}
	w.comm.Fail(stall, true)
}

// stop ends the watching and waits for the end of a look.
func (w *watchdog) stop() {
	if w == nil {
		return
	}
	w.mu.Lock()
	w.stopped = true
	w.timer.Stop()
	w.mu.Unlock()
	w.looking.Wait()
}
