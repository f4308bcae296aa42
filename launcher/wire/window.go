package wire

import (
	"context"
	"sync"
)

// Window is credit in bytes: who sends takes from it, who receives gives it
// back. The zero Window is empty.
type Window struct {
	mu     sync.Mutex
	bytes  int64
	change chan struct{} // closed when bytes grows; nil: nobody waits
}

// Give adds n bytes.
func (w *Window) Give(n int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.bytes += n
	if w.change != nil {
		close(w.change)
		w.change = nil
	}
}

// Take blocks until there is credit for an Output with some data, takes it for
// at most n bytes, n > 0, and returns for how many.
func (w *Window) Take(ctx context.Context, n int) (int, error) {
	for {
		w.mu.Lock()
		if w.bytes > frameCost {
			got := int(min(int64(n), w.bytes-frameCost))
			w.bytes -= frameCost + int64(got)
			w.mu.Unlock()
			return got, nil
		}
		if w.change == nil {
			w.change = make(chan struct{})
		}
		change := w.change
		w.mu.Unlock()
		select {
		case <-change:
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
}
