package rendezvous

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/gorun/gorun/rankenv"
)

// maxMemory bounds what one Memory keeps, in bytes of keys and values and
// overhead of each. A job publishes a few kilobytes a rank, so this much is a
// program that publishes in a loop: it gets an error, not a full agent.
const (
	maxMemory = 256 << 20
	overhead  = 64
)

// Memory is the [Backend] of a job in the memory of one process: the meeting
// place of [Local], of a job on one host, of rank 0's server, and the part of a
// cluster's member that holds what the member knows. It owns no goroutine and
// need not be closed.
type Memory struct {
	mu       sync.Mutex
	epochs   []*epoch // those that are over have given up what was published
	events   []Event
	happened chan struct{} // closed at the next event
}

// valueKey is what a value is found by. Values that a rank keeps have an owner,
// those of the job none.
type valueKey struct {
	key   string
	owner int // -1: the job
}

func (k valueKey) String() string {
	if k.owner < 0 {
		return fmt.Sprintf("key %q", k.key)
	}
	return fmt.Sprintf("key %q of rank %d", k.key, k.owner)
}

// published is a value, or the wait for it.
type published struct {
	ready    chan struct{} // closed when value is set
	value    []byte
	set      bool
	disputed bool // it was also published with other bytes
	waiting  int  // Gets; the last one takes an entry without a value away
}

// NewMemory returns a meeting place for the ranks of the plan, which must be
// the numbers from 0, each once.
func NewMemory(plan []Host) (*Memory, error) {
	n := 0
	for _, host := range plan {
		n += len(host.Ranks)
	}
	if n == 0 || n > MaxRanks {
		return nil, fmt.Errorf("rendezvous: the plan has %d ranks, want 1 to %d", n, MaxRanks)
	}
	seen := make([]bool, n)
	for _, host := range plan {
		for _, rank := range host.Ranks {
			if rank < 0 || rank >= n || seen[rank] {
				return nil, fmt.Errorf("rendezvous: the plan has rank %d on %s, want each of 0 to %d once", rank, host.Name, n-1)
			}
			seen[rank] = true
		}
	}
	return &Memory{epochs: []*epoch{newEpoch(plan, nil, 0)}, happened: make(chan struct{})}, nil
}

// Local returns the n Jobs of a world in memory, by rank: the twin of a real
// world for tests. It panics if n is not a possible size.
func Local(n int) []*Job {
	ranks := make([]int, max(n, 0))
	for i := range ranks {
		ranks[i] = i
	}
	m, err := NewMemory([]Host{{Name: "localhost", Ranks: ranks}})
	if err != nil {
		panic(err)
	}
	jobs := make([]*Job, n)
	for i := range jobs {
		jobs[i] = New(m, rankenv.World{
			Rank: i, Size: n, LocalRank: i, LocalSize: n, Nodes: 1, Host: "localhost", Addr: "127.0.0.1",
		})
	}
	return jobs
}

// Open implements [Backend]. It does not block.
func (m *Memory) Open(_ context.Context, epoch, rank int) ([]int, error) {
	if _, err := m.Opened(epoch, rank); err != nil {
		return nil, err
	}
	e, err := m.at(epoch, rank)
	if err != nil {
		return nil, err
	}
	return slices.Clone(e.ring), nil
}

// Opened notes that a rank has opened the job, here or at another meeting place
// of the cluster. It tells whether that is news.
func (m *Memory) Opened(epoch, rank int) (news bool, err error) {
	e, err := m.at(epoch, rank)
	if err != nil {
		return false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	news = !e.opened[rank]
	e.opened[rank] = true
	return news, nil
}

// Report notes an event for all who ask. The zero Time is now. A Lost that
// tells of no rank of the job not known to be lost before is dropped, and so is a
// NewEpoch after one that has begun, so that several witnesses may report the
// same.
func (m *Memory) Report(ev Event) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.report(ev)
}

// report is Report. m.mu is held.
func (m *Memory) report(ev Event) error {
	if ev.Kind == NewEpoch && ev.Epoch >= 0 && ev.Epoch < len(m.epochs)-1 {
		return nil
	}
	e, err := m.find(ev.Epoch, 0)
	if err != nil {
		return err
	}
	for _, rank := range ev.Ranks {
		if err := e.check(rank); err != nil {
			return err
		}
	}
	if ev.Kind == NewEpoch && len(ev.Ranks) == 0 {
		return fmt.Errorf("rendezvous: nobody goes on after epoch %d", ev.Epoch)
	}
	ev.Ranks = slices.Clone(ev.Ranks)
	if ev.Time.IsZero() {
		ev.Time = time.Now()
	}
	if _, err := ev.AppendBinary(nil); err != nil {
		return fmt.Errorf("rendezvous: event cannot be passed on: %w", err)
	}
	switch ev.Kind {
	case Lost:
		lost := slices.Concat(e.lost, ev.Ranks)
		slices.Sort(lost)
		lost = slices.Compact(lost)
		if len(lost) == len(e.lost) {
			return nil
		}
		e.lost = lost
	case NewEpoch:
	default:
		// The two above get through however much the job has published. They are
		// few: an epoch ends once, and each loss takes a rank with it.
		if err := e.grow(len(ev.Cause) + 8*len(ev.Ranks) + overhead); err != nil {
			return err
		}
	}
	m.events = append(m.events, ev)
	close(m.happened)
	m.happened = make(chan struct{})
	switch ev.Kind {
	case NewEpoch:
		m.advance(e, ev.Ranks)
	case Lost:
		return m.decide(e)
	}
	return nil
}

// Lost implements [Backend].
func (m *Memory) Lost(ctx context.Context, epoch int) ([]int, error) {
	e, err := m.at(epoch, 0)
	if err != nil {
		return nil, err
	}
	for ev, err := range m.Events(ctx, epoch) {
		if err != nil {
			return nil, err
		}
		if ev.Epoch == epoch && ev.Kind == NewEpoch {
			return nil, e.stale()
		}
		if ev.Kind == Lost {
			break
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(e.lost), nil
}

// Events implements [Backend].
func (m *Memory) Events(ctx context.Context, epoch int) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		m.mu.Lock()
		if epoch < 0 || epoch >= len(m.epochs) {
			m.mu.Unlock()
			yield(Event{}, fmt.Errorf("%w: %d has not begun", ErrStale, epoch))
			return
		}
		next := m.epochs[epoch].first
		m.mu.Unlock()
		for {
			m.mu.Lock()
			news, happened := m.events[next:], m.happened
			m.mu.Unlock()
			for _, ev := range news {
				ev.Ranks = slices.Clone(ev.Ranks)
				if !yield(ev, nil) {
					return
				}
			}
			next += len(news)
			if len(news) > 0 {
				continue
			}
			select {
			case <-happened:
			case <-ctx.Done():
				yield(Event{}, ctx.Err())
				return
			}
		}
	}
}
