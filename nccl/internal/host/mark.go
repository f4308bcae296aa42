package host

import (
	"context"
	"slices"
	"sync"
	"time"
)

// mark is a point in a stream: a core.Mark.
type mark struct {
	on *stream

	mu      sync.Mutex
	reached bool
	at      time.Time
	err     error         // the stream's failure at that point
	done    chan struct{} // made by the first Wait, closed when reached
	waiting []*stream     // to be poked when reached
}

func (m *mark) Reached() (time.Time, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.at, m.reached, m.err
}

// reach notes that all before the mark has ended, with err.
func (m *mark) reach(err error) {
	m.mu.Lock()
	m.reached, m.at, m.err = true, time.Now(), err
	waiting, done := m.waiting, m.done
	m.waiting = nil
	m.mu.Unlock()
	if done != nil {
		close(done)
	}
	for _, s := range waiting {
		s.poke()
	}
}

// await reports whether the mark is reached; if not, s will be poked.
func (m *mark) await(s *stream) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.reached && !slices.Contains(m.waiting, s) {
		m.waiting = append(m.waiting, s)
	}
	return m.reached, m.err
}

func (m *mark) Wait(ctx context.Context) error {
	m.mu.Lock()
	if m.reached {
		m.mu.Unlock()
		return m.err
	}
	if m.done == nil {
		m.done = make(chan struct{})
	}
	m.mu.Unlock()
	m.on.start()
	select {
	case <-m.done:
		return m.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
