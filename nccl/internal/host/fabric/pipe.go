package fabric

import "sync"

// pipeSize is how many bytes a pipe holds: about what two chunks of a pipelined
// collective need, and small enough for the cache.
const pipeSize = 256 << 10

// Local returns the connected Ports of n ranks inside this process. Memory for
// a link is allocated when it is first used.
func Local(n int) []Port {
	m := &mesh{pipes: make(map[[2]int]*pipe), closed: make(map[int]bool)}
	for range n {
		m.ports = append(m.ports, &localPort{mesh: m, rank: len(m.ports), wake: make(chan struct{}, 1)})
	}
	ports := make([]Port, n)
	for i, p := range m.ports {
		ports[i] = p
	}
	return ports
}

// mesh is what the Ports of one Local share.
type mesh struct {
	ports []*localPort

	mu     sync.Mutex
	pipes  map[[2]int]*pipe // by sender and receiver
	closed map[int]bool     // ranks whose Port is closed
}

// pipe returns the link from one rank to another.
func (m *mesh) pipe(from, to int) *pipe {
	m.mu.Lock()
	defer m.mu.Unlock()
	link := [2]int{from, to}
	p := m.pipes[link]
	if p == nil {
		p = &pipe{ring: make([]byte, pipeSize), closed: m.closed[from] || m.closed[to]}
		m.pipes[link] = p
	}
	return p
}

// localPort is a Port of Local. The last link in each direction is remembered:
// a ring uses no other.
type localPort struct {
	mesh *mesh
	rank int
	wake chan struct{} // holds a token when something may have changed

	in, out       *pipe
	inTo, outFrom int // whose in and out are, plus 1
}

func (p *localPort) TrySend(to int, b []byte) (int, error) {
	if p.outFrom != to+1 {
		p.out, p.outFrom = p.mesh.pipe(p.rank, to), to+1
	}
	n, err := p.out.write(b)
	if n > 0 {
		p.mesh.ports[to].Wake()
	}
	return n, err
}

func (p *localPort) TryRecv(from int, b []byte) (int, error) {
	if p.inTo != from+1 {
		p.in, p.inTo = p.mesh.pipe(from, p.rank), from+1
	}
	n, err := p.in.read(b)
	if n > 0 {
		p.mesh.ports[from].Wake()
	}
	return n, err
}

func (p *localPort) Wait(from, to int) { <-p.wake }

func (p *localPort) Wake() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// Spin is 0: whoever this Port waits for may need its processor.
func (p *localPort) Spin() int { return 0 }

func (p *localPort) Close() error {
	p.mesh.mu.Lock()
	defer p.mesh.mu.Unlock()
	p.mesh.closed[p.rank] = true
	for link, pipe := range p.mesh.pipes {
		if link[0] == p.rank || link[1] == p.rank {
			pipe.close()
			p.mesh.ports[link[0]].Wake()
			p.mesh.ports[link[1]].Wake()
		}
	}
	return nil
}

// pipe is a bounded stream of bytes.
type pipe struct {
	mu     sync.Mutex
	ring   []byte
	head   uint64 // bytes ever read
	tail   uint64 // bytes ever written
	closed bool
}

func (p *pipe) write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return 0, ErrBroken
	}
	b = b[:min(len(b), len(p.ring)-int(p.tail-p.head))]
	at := int(p.tail % uint64(len(p.ring)))
	n := copy(p.ring[at:], b)
	copy(p.ring, b[n:])
	p.tail += uint64(len(b))
	return len(b), nil
}

func (p *pipe) read(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed && p.head == p.tail && len(b) > 0 {
		return 0, ErrBroken
	}
	b = b[:min(len(b), int(p.tail-p.head))]
	at := int(p.head % uint64(len(p.ring)))
	n := copy(b, p.ring[at:])
	copy(b[n:], p.ring)
	p.head += uint64(len(b))
	return len(b), nil
}

func (p *pipe) close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
}
