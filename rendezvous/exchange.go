package rendezvous

import (
	"bytes"
	"context"
	"fmt"
)

// exchange is what the ranks brought under one name.
type exchange struct {
	values  [][]byte // by rank; nil: nobody has brought anything yet, as in a barrier
	came    []bool
	served  []bool // who has got the values
	missing int
	whole   chan struct{} // closed when missing is 0
}

// Exchange implements [Backend].
func (m *Memory) Exchange(ctx context.Context, epoch, rank int, name string, value []byte) ([][]byte, error) {
	if _, err := m.Arrive(epoch, rank, name, value); err != nil {
		return nil, err
	}
	return m.Await(ctx, epoch, rank, name)
}

// Barrier implements [Backend].
func (m *Memory) Barrier(ctx context.Context, epoch, rank int, name string) error {
	if _, err := m.Arrive(epoch, rank, name, nil); err != nil {
		return err
	}
	return m.AwaitBarrier(ctx, epoch, rank, name)
}

// Arrive is the first half of Exchange: it brings rank's value and does not
// block. It tells whether that is news, or the rank has come with it before.
func (m *Memory) Arrive(epoch, rank int, name string, value []byte) (news bool, err error) {
	e, err := m.at(epoch, rank)
	if err != nil {
		return false, err
	}
	if err := CheckValue(name, value); err != nil {
		return false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	n := len(e.hosts)
	x := e.exchanges[name]
	if x == nil {
		if err := e.grow(len(name) + 2*n + overhead); err != nil { // 2: the flags
			return false, err
		}
		x = &exchange{came: make([]bool, n), served: make([]bool, n), missing: n, whole: make(chan struct{})}
		e.exchanges[name] = x
	}
	if x.came[rank] {
		if x.served[rank] || !bytes.Equal(x.value(rank), value) {
			return false, fmt.Errorf("%w: rank %d has come to %q before", ErrExists, rank, name)
		}
		return false, nil
	}
	if len(value) > 0 {
		size := len(value)
		if x.values == nil {
			size += 24 * n // the headers of slices
		}
		if err := e.grow(size); err != nil {
			return false, err
		}
		if x.values == nil {
			x.values = make([][]byte, n)
		}
		x.values[rank] = bytes.Clone(value)
	}
	x.came[rank] = true
	if x.missing--; x.missing == 0 {
		close(x.whole)
	}
	return true, nil
}

func (x *exchange) value(rank int) []byte {
	if x.values == nil {
		return nil
	}
	return x.values[rank]
}

// Await is the second half of Exchange, for a rank that has arrived.
func (m *Memory) Await(ctx context.Context, epoch, rank int, name string) ([][]byte, error) {
	x, err := m.await(ctx, epoch, rank, name)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	values := make([][]byte, len(x.came))
	for rank := range values {
		values[rank] = append([]byte{}, x.value(rank)...)
	}
	return values, nil
}

// AwaitBarrier is Await without the values.
func (m *Memory) AwaitBarrier(ctx context.Context, epoch, rank int, name string) error {
	_, err := m.await(ctx, epoch, rank, name)
	return err
}

func (m *Memory) await(ctx context.Context, epoch, rank int, name string) (*exchange, error) {
	e, err := m.at(epoch, rank)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	x := e.exchanges[name]
	if x == nil || !x.came[rank] {
		return nil, fmt.Errorf("rendezvous: rank %d awaits %q before it has arrived", rank, name)
	}
	m.mu.Unlock()
	select {
	case <-x.whole:
	case <-e.over:
	case <-ctx.Done():
	}
	m.mu.Lock()
	if x.missing > 0 && e.ended() {
		return nil, e.stale()
	}
	if x.missing > 0 {
		return nil, e.missing(fmt.Sprintf("%q", name), func(rank int) bool { return x.came[rank] }, ctx.Err())
	}
	x.served[rank] = true
	return x, nil
}
