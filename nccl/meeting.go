package nccl

import (
	"context"
	"sync"
	"time"

	"github.com/gorun/gorun/nccl/internal/core"
)

// abortTimeout is how long the meeting place may take to carry an abort before
// it is given up: the ranks tell each other too.
const abortTimeout = 5 * time.Second

// meeting keeps a communicator in touch with the Bootstrap by which its ranks
// met. Its goroutines end in close. A nil meeting has none to keep in touch
// with.
type meeting struct {
	name      string // of the communicator there
	bootstrap Bootstrap
	leave     func() error // nil if the Bootstrap is the caller's
	cancel    context.CancelFunc
	watching  sync.WaitGroup
}

// attend lets the engine hear of losses and aborts.
func attend(engine core.Comm, name string, bootstrap Bootstrap, leave func() error) *meeting {
	ctx, cancel := context.WithCancel(context.Background())
	m := &meeting{name: name, bootstrap: bootstrap, leave: leave, cancel: cancel}
	if w, ok := bootstrap.(LossWatcher); ok {
		m.watching.Go(func() {
			if ranks, err := w.Lost(ctx); err == nil {
				engine.Fail(&core.LostError{Ranks: ranks}, true)
			}
		})
	}
	if a, ok := bootstrap.(Aborter); ok {
		m.watching.Go(func() {
			if rank, reason, err := a.Aborted(ctx, name); err == nil {
				engine.Fail(&core.AbortedError{Rank: rank, Reason: reason}, true)
			}
		})
	}
	return m
}

// abort has the meeting place tell all ranks, in the background.
func (m *meeting) abort(reason string) {
	if m == nil {
		return
	}
	if a, ok := m.bootstrap.(Aborter); ok {
		m.watching.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), abortTimeout)
			defer cancel()
			_ = a.Abort(ctx, m.name, reason) // the ranks' own links carry it too
		})
	}
}

// close ends the watching, and leaves the meeting place if the communicator
// came to it by itself.
func (m *meeting) close() error {
	if m == nil {
		return nil
	}
	m.cancel()
	m.watching.Wait()
	if m.leave != nil {
		return m.leave()
	}
	return nil
}
