package host

import (
	"unsafe"

	"github.com/gorun/gorun/nccl/internal/core"
	"github.com/gorun/gorun/nccl/internal/host/fabric"
	"github.com/gorun/gorun/nccl/internal/host/reduce"
	"github.com/gorun/gorun/nccl/internal/host/sched"
)

// Sizes, chosen by us. They must be equal on all ranks, and results depend on
// them, so they are no settings.
const (
	// chunkBytes is the largest chunk of a ring. Chunks pass through the cache
	// twice: received and reduced, then sent.
	chunkBytes = 256 << 10
	// grainBytes aligns the chunks of the last round: a cache line.
	grainBytes = 64
	// stageBytes is how much is received before it is reduced.
	stageBytes = 64 << 10
	// oneShotBytes is what all ranks' elements of an all-reduce may come to so
	// that it runs as one all-gather that every rank reduces by itself: n−1
	// hops in place of 2(n−1), for n/2 times the bytes.
	oneShotBytes = 16 << 10
)

// machine executes one collective at a time, as far as it goes without waiting,
// and remembers where it was.
//
// Two cursors run through the same plan: one receives and reduces, the other
// sends what the first has finished with, byte by byte. So chunks overlap
// without any thread, and the machine can stop at any byte.
type machine struct {
	ring sched.Ring
	port fabric.Port

	call     core.Call
	dst, src []byte // what the plan speaks of: the call's, or this machine's own
	kernel   reduce.Func
	recv     cursor
	send     cursor

	stage  []byte // received, not yet reduced: bytes 0 … staged-1
	staged int
	relay  []byte // two chunks that only pass through, by the parity of their move
	gather []byte // all ranks' elements of a one-shot all-reduce, or what a barrier gathers
}

// cursor is a place in a plan.
type cursor struct {
	plan  sched.Plan
	move  sched.Move
	bytes int  // of the move, that are done
	ok    bool // there is a move; false at the end
}

// start makes the machine ready for call.
func (m *machine) start(call core.Call) {
	m.call, m.dst, m.src, m.staged = call, call.Dst, call.Src, 0
	n, size := m.ring.Size(), call.Type.Size()
	if n == 1 {
		move(m.dst, m.src)
		m.recv.ok, m.send.ok = false, false
		return
	}
	var plan sched.Plan
	chunk := chunkBytes / size
	switch call.Kind {
	case core.AllReduce:
		if m.oneShot() {
			m.gather = grow(m.gather, n*len(m.src))
			m.dst = m.gather
			plan = sched.AllGather(m.ring, call.Count, chunk)
		} else {
			plan = sched.AllReduce(m.ring, call.Count, chunk, grainBytes/size)
		}
	case core.AllGather:
		plan = sched.AllGather(m.ring, call.Count, chunk)
	case core.ReduceScatter:
		m.relay = grow(m.relay, 2*min(chunkBytes, call.Count*size))
		plan = sched.ReduceScatter(m.ring, call.Count, chunk)
	case core.Broadcast:
		plan = sched.Broadcast(m.ring, call.Count, chunk, call.Root)
	case core.Barrier:
		m.gather = grow(m.gather, n+1)
		m.dst, m.src = m.gather[:n], m.gather[n:n+1]
		plan = sched.AllGather(m.ring, 1, chunk)
	}
	if call.Kind == core.AllReduce || call.Kind == core.ReduceScatter {
		m.kernel = reduce.For(call.Op, call.Type)
		m.stage = grow(m.stage, stageBytes)
	}
	m.recv, m.send = cursor{plan: plan}, cursor{plan: plan}
	m.nextRecv()
	m.nextSend()
}

// oneShot reports whether the call is an all-reduce that runs as one
// all-gather. It depends on what all ranks know alike.
func (m *machine) oneShot() bool {
	return m.call.Kind == core.AllReduce && m.ring.Size()*m.call.Count*m.call.Type.Size() <= oneShotBytes
}

// advance goes on until the links have no more to give or take, or for the
// rounds given, each of a chunk at most; 0 is no bound. It reports whether the
// call is done.
func (m *machine) advance(rounds int) (done bool, err error) {
	for round := 1; ; round++ {
		if err := m.sendSome(); err != nil {
			return false, err
		}
		got, err := m.recvSome()
		if err != nil {
			return false, err
		}
		if !m.recv.ok && !m.send.ok {
			m.finish()
			return true, nil
		}
		if !got || round == rounds {
			return false, nil
		}
	}
}

// wait blocks until advance may get further.
func (m *machine) wait() {
	from, to := -1, -1
	if m.recv.ok && m.canRecv() {
		from = m.ring.Prev()
	}
	if m.send.ok && len(m.sendable()) > 0 {
		to = m.ring.Next()
	}
	m.port.Wait(from, to)
}

// sendSome sends until the link is full or what is to be sent next has not come.
func (m *machine) sendSome() error {
	for m.send.ok {
		b := m.sendable()
		if len(b) == 0 {
			return nil
		}
		n, err := m.port.TrySend(m.ring.Next(), b)
		if err != nil {
			return err
		}
		m.send.bytes += n
		if m.send.bytes == m.size(m.send.move) {
			m.nextSend()
		} else if n < len(b) {
			return nil
		}
	}
	return nil
}

// sendable returns the bytes of the send cursor's move that are ready and not sent.
func (m *machine) sendable() []byte {
	c := &m.send
	if !c.move.Recv {
		return m.own(c.move)[c.bytes:]
	}
	ready := 0
	switch {
	case !m.recv.ok || m.recv.move.Index > c.move.Index:
		ready = m.size(c.move)
	case m.recv.move.Index == c.move.Index:
		ready = m.recv.bytes
	}
	return m.place(c.move)[c.bytes:max(ready, c.bytes)]
}

// canRecv reports whether the place that the recv cursor's move fills is free.
func (m *machine) canRecv() bool {
	return !m.recv.move.Relay || !m.send.ok || m.recv.move.Index-m.send.move.Index < 2
}

// recvSome receives once, and reduces. It reports whether anything came.
func (m *machine) recvSome() (bool, error) {
	c := &m.recv
	if !c.ok || !m.canRecv() {
		return false, nil
	}
	left := m.place(c.move)[c.bytes:]
	into := left
	if c.move.Reduce {
		into = m.stage[m.staged:min(len(m.stage), len(left))]
	}
	n, err := m.port.TryRecv(m.ring.Prev(), into)
	if n == 0 || err != nil {
		return false, err
	}
	if c.move.Reduce {
		n = m.reduceStaged(left, m.own(c.move)[c.bytes:], n)
	}
	c.bytes += n
	if c.bytes == m.size(c.move) {
		m.nextRecv()
	}
	return true, nil
}

// reduceStaged reduces the whole elements of what is staged, n bytes of it new,
// with own into dst, and returns their bytes.
func (m *machine) reduceStaged(dst, own []byte, n int) int {
	m.staged += n
	whole := m.staged - m.staged%m.call.Type.Size()
	m.kernel(dst[:whole], m.stage[:whole], own[:whole])
	if m.recv.move.Final && m.call.Op == core.Avg {
		reduce.Divide(m.call.Type, dst[:whole], m.ring.Size())
	}
	m.staged = copy(m.stage, m.stage[whole:m.staged])
	return whole
}

// finish does what comes after the last move.
func (m *machine) finish() {
	if m.ring.Size() > 1 && m.oneShot() {
		m.fold()
	}
	m.dst, m.src = nil, nil
	m.call = core.Call{}
}

// fold reduces what a one-shot all-reduce has gathered, in the order of ranks,
// so that all come to the same bits.
func (m *machine) fold() {
	n, part := m.ring.Size(), len(m.call.Dst)
	sum := m.gather[:part]
	for r := 1; r < n; r++ {
		m.kernel(sum, sum, m.gather[r*part:(r+1)*part])
	}
	if m.call.Op == core.Avg {
		reduce.Divide(m.call.Type, sum, n)
	}
	copy(m.call.Dst, sum)
}

// nextRecv moves the recv cursor on.
func (m *machine) nextRecv() {
	c := &m.recv
	c.bytes = 0
	for c.move, c.ok = c.plan.Next(); c.ok && !c.move.Recv; {
		c.move, c.ok = c.plan.Next()
	}
}

// nextSend moves the send cursor on, and copies this rank's own elements where
// the plan wants it.
func (m *machine) nextSend() {
	c := &m.send
	c.bytes = 0
	for c.move, c.ok = c.plan.Next(); c.ok && !c.move.Send; {
		c.move, c.ok = c.plan.Next()
	}
	if c.ok && c.move.Copy {
		move(m.place(c.move), m.own(c.move))
	}
}

// size returns the bytes of a move.
func (m *machine) size(v sched.Move) int { return v.Len * m.call.Type.Size() }

// own returns this rank's elements of a move.
func (m *machine) own(v sched.Move) []byte { return m.span(m.src, v.In, v.Len) }

// place returns where the result of a move is put.
func (m *machine) place(v sched.Move) []byte {
	if v.Relay {
		half := len(m.relay) / 2
		return m.relay[v.Index%2*half:][:m.size(v)]
	}
	return m.span(m.dst, v.Out, v.Len)
}

func (m *machine) span(b []byte, off, n int) []byte {
	size := m.call.Type.Size()
	return b[off*size : (off+n)*size]
}

// move copies src to dst unless they are the same memory.
func move(dst, src []byte) {
	if unsafe.SliceData(dst) != unsafe.SliceData(src) {
		copy(dst, src)
	}
}

// grow returns a slice of n bytes, b's memory if that has them.
func grow(b []byte, n int) []byte {
	if cap(b) < n {
		return make([]byte, n)
	}
	return b[:n]
}
