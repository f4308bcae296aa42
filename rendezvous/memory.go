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

// Memory is the [Backend] of one epoch in the memory of one process: the
// meeting place of [Local], of a job on one host, of rank 0's server, and the
// part of a cluster's member that holds what the member knows. It owns no
// goroutine and need not be closed.
type Memory struct {
	ring  []int    // all ranks, in the order of the plan
	hosts []string // name of each rank's host

	mu        sync.Mutex
	opened    []bool // by rank
	values    map[valueKey]*published
	exchanges map[string]*exchange
	events    []Event
	happened  chan struct{} // closed at the next event
	lost      []int         // ascending
	size      int           // see maxMemory
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
	m := &Memory{
		hosts:     make([]string, n),
		opened:    make([]bool, n),
		values:    map[valueKey]*published{},
		exchanges: map[string]*exchange{},
		happened:  make(chan struct{}),
	}
	seen := make([]bool, n)
	for _, host := range plan {
		for _, rank := range host.Ranks {
			if rank < 0 || rank >= n || seen[rank] {
				return nil, fmt.Errorf("rendezvous: the plan has rank %d on %s, want each of 0 to %d once", rank, host.Name, n-1)
			}
			seen[rank] = true
			m.hosts[rank] = host.Name
			m.ring = append(m.ring, rank)
		}
	}
	return m, nil
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

// check returns the error of a call for another epoch or for nobody's rank.
func (m *Memory) check(epoch, rank int) error {
	if epoch != 0 {
		return fmt.Errorf("%w: %d is not served", ErrStale, epoch)
	}
	if rank < 0 || rank >= len(m.hosts) {
		return fmt.Errorf("rendezvous: rank is %d, want 0 to %d", rank, len(m.hosts)-1)
	}
	return nil
}

// grow accounts for n more bytes. m.mu is held.
func (m *Memory) grow(n int) error {
	if m.size+n > maxMemory {
		return fmt.Errorf("rendezvous: the job has published %d bytes, at most %d are allowed", m.size, maxMemory)
	}
	m.size += n
	return nil
}

// Open implements [Backend]. It does not block.
func (m *Memory) Open(_ context.Context, epoch, rank int) ([]int, error) {
	if _, err := m.Opened(epoch, rank); err != nil {
		return nil, err
	}
	return slices.Clone(m.ring), nil
}

// Opened notes that a rank has opened the job, here or at another meeting place
// of the cluster. It tells whether that is news.
func (m *Memory) Opened(epoch, rank int) (news bool, err error) {
	if err := m.check(epoch, rank); err != nil {
		return false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	news = !m.opened[rank]
	m.opened[rank] = true
	return news, nil
}

// missing returns the *MissingError of a wait for those ranks that have not
// come. m.mu is held.
func (m *Memory) missing(what string, came func(rank int) bool, err error) error {
	e := &MissingError{What: what, Err: err}
	for rank := range m.hosts {
		if !came(rank) {
			e.Ranks = append(e.Ranks, rank)
		}
	}
	named := map[string]bool{}
	for _, rank := range m.ring {
		if host := m.hosts[rank]; !came(rank) && !named[host] {
			named[host] = true
			e.Hosts = append(e.Hosts, host)
		}
	}
	return e
}

// Report notes an event for all who ask. The zero Time is now. A Lost that
// tells of no rank of the job not known to be lost before is dropped, so that
// several witnesses may report one loss.
func (m *Memory) Report(ev Event) error {
	if err := m.check(ev.Epoch, 0); err != nil {
		return err
	}
	for _, rank := range ev.Ranks {
		if err := m.check(ev.Epoch, rank); err != nil {
			return err
		}
	}
	ev.Ranks = slices.Clone(ev.Ranks)
	if ev.Time.IsZero() {
		ev.Time = time.Now()
	}
	if _, err := ev.AppendBinary(nil); err != nil {
		return fmt.Errorf("rendezvous: event cannot be passed on: %w", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if ev.Kind == Lost {
		before := len(m.lost)
		m.lost = append(m.lost, ev.Ranks...)
		slices.Sort(m.lost)
		m.lost = slices.Compact(m.lost)
		if len(m.lost) == before {
			return nil
		}
	}
	if err := m.grow(len(ev.Cause) + 8*len(ev.Ranks) + overhead); err != nil {
		return err
	}
	m.events = append(m.events, ev)
	close(m.happened)
	m.happened = make(chan struct{})
	return nil
}

// Lost implements [Backend].
func (m *Memory) Lost(ctx context.Context, epoch int) ([]int, error) {
	for ev, err := range m.Events(ctx, epoch) {
		if err != nil {
			return nil, err
		}
		if ev.Kind == Lost {
			break
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.lost), nil
}

// Events implements [Backend].
func (m *Memory) Events(ctx context.Context, epoch int) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		if err := m.check(epoch, 0); err != nil {
			yield(Event{}, err)
			return
		}
		for next := 0; ; {
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
