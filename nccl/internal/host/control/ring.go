package control

import (
	"encoding/binary"
	"net"
	"sync"
	"time"

	"github.com/gorun/gorun/nccl/internal/core"
)

// probeTimeout is how long Behind waits for answers. A rank that is merely busy
// answers at once, since its reader is a goroutine of its own.
const probeTimeout = time.Second

// flushTimeout bounds how long Close waits for what was said to be on its way.
const flushTimeout = time.Second

// Ring is the Control of a rank that has a connection to each neighbour.
//
// What a rank has to say goes out both ways and is passed on, with a count of
// the links that it may still cross, until it has been everywhere. So one
// broken place keeps nothing from anyone. Each connection has a reader and a
// writer:
//
//   - the reader handles frames in order, passes them on and never waits for anything else. When the connection ends without a
//     bye, it declares the neighbour lost;
//   - the writer sends what is queued. Queues are short: a communicator fails once.
//
// Readers and writers end in Close.
type Ring struct {
	rank, size int
	member     Member
	links      [2]*link // forward to the next rank, backward to the one before
	running    sync.WaitGroup

	mu      sync.Mutex
	closing bool
	answers chan reply // of the probe that is out; nil: none
}

const (
	forward  = 0
	backward = 1
)

// reply is a rank's answer to a probe.
type reply struct {
	rank    int
	entered uint64
}

// NewRing returns the Control of a rank among size. It takes over the
// connections. [Ring.Start] starts it.
func NewRing(rank, size int, prev, next net.Conn, member Member) *Ring {
	r := &Ring{rank: rank, size: size, member: member}
	r.links[forward] = newLink(next, (rank+1)%size)
	r.links[backward] = newLink(prev, (rank+size-1)%size)
	return r
}

// Start starts the goroutines. From now on the member hears of failures.
func (r *Ring) Start() {
	for way, l := range r.links {
		r.running.Go(l.write)
		r.running.Go(func() { r.read(way) })
	}
}

// Spread tells all other ranks why the communicator failed.
func (r *Ring) Spread(failure error) {
	if k, body, ok := encodeFailure(failure); ok {
		r.flood(k, body)
	}
}

// flood sends a frame both ways, as far as the ring goes.
func (r *Ring) flood(k kind, body []byte) {
	f := frame{kind: k, from: r.rank, hops: r.size - 2, body: body}
	for _, l := range r.links {
		l.push(f.encode())
	}
}

// Behind asks all ranks which call they have entered.
func (r *Ring) Behind(seq uint64) []int {
	answers := make(chan reply, 2*r.size)
	r.mu.Lock()
	r.answers = answers
	r.mu.Unlock()
	r.flood(probe, nil)

	behind := make(map[int]bool)
	silent := make(map[int]bool)
	for rank := range r.size {
		silent[rank] = rank != r.rank
	}
	timeout := time.NewTimer(probeTimeout)
	defer timeout.Stop()
	for waiting := r.size - 1; waiting > 0; {
		select {
		case a := <-answers:
			if silent[a.rank] {
				waiting--
				silent[a.rank], behind[a.rank] = false, a.entered < seq
			}
		case <-timeout.C:
			waiting = 0
		}
	}
	r.mu.Lock()
	r.answers = nil
	r.mu.Unlock()
	var ranks []int
	for rank := range r.size {
		if behind[rank] || silent[rank] {
			ranks = append(ranks, rank)
		}
	}
	return ranks
}

// Leave says goodbye to the neighbours, the only ones who would notice.
func (r *Ring) Leave() {
	f := frame{kind: bye, from: r.rank}
	for _, l := range r.links {
		l.push(f.encode())
	}
}

// Close sends what is queued and ends the goroutines.
func (r *Ring) Close() {
	r.mu.Lock()
	r.closing = true
	r.mu.Unlock()
	for _, l := range r.links {
		l.close()
	}
	r.running.Wait()
}

// read handles what comes from the neighbour at links[way] until the connection ends.
func (r *Ring) read(way int) {
	l := r.links[way]
	left := false
	for {
		f, err := readFrame(l.conn, r.size)
		if err == nil && f.kind == bye {
			left = true
			continue
		}
		if err == nil {
			err = r.handle(f, way)
		}
		if err != nil {
			break
		}
	}
	r.mu.Lock()
	quiet := left || r.closing
	r.mu.Unlock()
	if !quiet {
		r.member.Fail(&core.LostError{Ranks: []int{l.peer}}, true)
	}
}

// handle acts on a frame that came over links[way], and passes it on.
func (r *Ring) handle(f frame, way int) error {
	onward := r.links[1-way]
	switch f.kind {
	case probe:
		body := binary.BigEndian.AppendUint32(nil, uint32(f.from))
		body = binary.BigEndian.AppendUint64(body, r.member.Entered())
		back := frame{kind: answer, from: r.rank, hops: r.size - 2, body: body}
		r.links[way].push(back.encode())
	case answer:
		ranks, ok := readRanks(f.body[:min(4, len(f.body))], r.size)
		if !ok || len(f.body) != 12 {
			return errAnswer
		}
		if ranks[0] == r.rank {
			r.take(reply{f.from, binary.BigEndian.Uint64(f.body[4:])})
			return nil
		}
	default:
		failure, err := decodeFailure(f.kind, f.body, r.size)
		if err != nil {
			return err
		}
		// Passed on first: who hears it may end at once.
		r.pass(f, onward)
		r.member.Fail(failure, false)
		return nil
	}
	r.pass(f, onward)
	return nil
}

// pass hands a frame on, if it has further to go.
func (r *Ring) pass(f frame, onward *link) {
	if f.hops > 0 {
		f.hops--
		onward.push(f.encode())
	}
}

// take gives an answer to the probe that is out. Late ones are dropped.
func (r *Ring) take(a reply) {
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case r.answers <- a:
	default:
	}
}
