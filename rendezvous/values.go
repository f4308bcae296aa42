package rendezvous

import (
	"bytes"
	"context"
	"fmt"
)

// Put implements [Backend]. It does not block.
func (m *Memory) Put(_ context.Context, epoch int, key string, value []byte) error {
	e, err := m.at(epoch, 0)
	if err != nil {
		return err
	}
	return m.publish(e, valueKey{key, -1}, value)
}

// Offer implements [Backend]. It does not block.
func (m *Memory) Offer(_ context.Context, epoch, rank int, key string, value []byte) error {
	e, err := m.at(epoch, rank)
	if err != nil {
		return err
	}
	return m.publish(e, valueKey{key, rank}, value)
}

func (m *Memory) publish(e *epoch, key valueKey, value []byte) error {
	if err := CheckValue(key.key, value); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	p := e.values[key]
	if p != nil && p.set {
		if p.disputed || !bytes.Equal(p.value, value) {
			return fmt.Errorf("%w: %v", ErrExists, key)
		}
		return nil
	}
	if err := e.grow(len(key.key) + len(value) + overhead); err != nil {
		return err
	}
	if p == nil {
		p = &published{ready: make(chan struct{})}
		e.values[key] = p
	}
	p.value, p.set = bytes.Clone(value), true
	close(p.ready)
	return nil
}

// Dispute notes that the published key has other bytes elsewhere, which a
// cluster of meeting places can find out only afterwards. Puts and Gets are
// ErrExists from now on: a loud end for a program of which two ranks publish
// under one name.
func (m *Memory) Dispute(epoch int, key string) {
	e, err := m.at(epoch, 0)
	if err != nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if p := e.values[valueKey{key, -1}]; p != nil && p.set {
		p.disputed = true
	}
}

// Get implements [Backend].
func (m *Memory) Get(ctx context.Context, epoch int, key string) ([]byte, error) {
	e, err := m.at(epoch, 0)
	if err != nil {
		return nil, err
	}
	return m.get(ctx, e, valueKey{key, -1})
}

// Fetch implements [Backend].
func (m *Memory) Fetch(ctx context.Context, epoch, rank int, key string) ([]byte, error) {
	e, err := m.at(epoch, rank)
	if err != nil {
		return nil, err
	}
	return m.get(ctx, e, valueKey{key, rank})
}

// Offered returns the value that a rank offers under key, if it does so yet.
func (m *Memory) Offered(epoch, rank int, key string) (value []byte, ok bool) {
	e, err := m.at(epoch, rank)
	if err != nil {
		return nil, false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	p := e.values[valueKey{key, rank}]
	if p == nil || !p.set {
		return nil, false
	}
	return bytes.Clone(p.value), true
}

func (m *Memory) get(ctx context.Context, e *epoch, key valueKey) ([]byte, error) {
	if err := CheckValue(key.key, nil); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	p := e.values[key]
	if p == nil {
		p = &published{ready: make(chan struct{})}
		e.values[key] = p
	}
	p.waiting++
	m.mu.Unlock()
	select {
	case <-p.ready:
	case <-e.over:
	case <-ctx.Done():
	}
	m.mu.Lock()
	p.waiting--
	if !p.set {
		if p.waiting == 0 {
			delete(e.values, key)
		}
		if e.ended() {
			return nil, e.stale()
		}
		came := func(rank int) bool { return e.opened[rank] }
		if key.owner >= 0 {
			came = func(rank int) bool { return rank != key.owner }
		}
		return nil, e.missing(key.String(), came, ctx.Err())
	}
	if p.disputed {
		return nil, fmt.Errorf("%w: %v was published twice, differently", ErrExists, key)
	}
	return append([]byte{}, p.value...), nil
}
