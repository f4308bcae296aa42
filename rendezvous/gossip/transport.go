package gossip

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/hashicorp/memberlist"
)

// Memberlist's own transport takes streams from anyone and reads megabytes
// before it authenticates them; it reads from the start, when the roster's
// addresses are not known; and it dials without a context. This one does none of
// that, and waits for its connections when it is shut down.

// network is memberlist's Transport and what a Node needs besides.
type network interface {
	memberlist.Transport
	// Bound returns the local address.
	Bound() netip.AddrPort
	// Admit sets from which addresses packets and streams are taken, nil: from
	// all. Until its first call they wait.
	Admit(map[netip.Addr]bool)
	// HangUp ends dialing and what was dialed, for good.
	HangUp()
}

const (
	// maxStream is the longest stream: a message, or the state of 1<<16 members.
	maxStream = 20 << 20
	// maxStreams is how many are served at a time; more wait in the listener's
	// queue. Memberlist drops streams above 128.
	maxStreams = 64
	// bindAttempts is how often a port is looked for that is free for TCP and
	// UDP.
	bindAttempts = 10
)

// transport is the network of TCP and UDP on one port.
type transport struct {
	tcp     *net.TCPListener
	udp     *net.UDPConn
	packets chan *memberlist.Packet
	streams chan net.Conn
	slots   chan struct{} // one token for each stream being served

	ctx     context.Context // ends at Shutdown
	end     context.CancelFunc
	dialing context.Context // ends at HangUp
	stop    context.CancelFunc
	loops   sync.WaitGroup
	conns   sync.WaitGroup // accepted

	mu      sync.Mutex
	reading bool
	allowed map[netip.Addr]bool // nil: all
	open    map[*boundedConn]bool
	down    bool
}

func listen(bind netip.AddrPort) (network, error) {
	var errs []error
	for range bindAttempts {
		tcp, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(bind))
		if err != nil {
			return nil, fmt.Errorf("gossip: %w", err)
		}
		udp, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(tcp.Addr().(*net.TCPAddr).AddrPort()))
		if err != nil {
			tcp.Close()
			errs = append(errs, err)
			if bind.Port() != 0 {
				break
			}
			continue
		}
		t := &transport{
			tcp: tcp, udp: udp,
			packets: make(chan *memberlist.Packet),
			streams: make(chan net.Conn),
			slots:   make(chan struct{}, maxStreams),
			open:    map[*boundedConn]bool{},
		}
		t.ctx, t.end = context.WithCancel(context.Background())
		t.dialing, t.stop = context.WithCancel(t.ctx)
		return t, nil
	}
	return nil, fmt.Errorf("gossip: no port of %v is free for TCP and UDP: %w", bind.Addr(), errors.Join(errs...))
}

func (t *transport) Bound() netip.AddrPort {
	addr := t.tcp.Addr().(*net.TCPAddr).AddrPort()
	return netip.AddrPortFrom(addr.Addr().Unmap(), addr.Port())
}

func (t *transport) Admit(allowed map[netip.Addr]bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.allowed = allowed
	if !t.reading && !t.down {
		t.reading = true
		t.loops.Go(t.readPackets)
		t.loops.Go(t.acceptStreams)
	}
}

func (t *transport) admits(addr netip.Addr) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.allowed == nil || t.allowed[addr.Unmap()]
}

// readPackets ends when the socket is closed.
func (t *transport) readPackets() {
	buf := make([]byte, 64<<10)
	for {
		n, from, err := t.udp.ReadFromUDPAddrPort(buf)
		now := time.Now()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil || n == 0 || !t.admits(from.Addr()) {
			continue // an ICMP error of a packet sent before, or nobody of ours
		}
		p := &memberlist.Packet{Buf: append([]byte{}, buf[:n]...), From: net.UDPAddrFromAddrPort(from), Timestamp: now}
		select {
		case t.packets <- p:
		case <-t.ctx.Done():
			return
		}
	}
}

// acceptStreams ends when the listener is closed.
func (t *transport) acceptStreams() {
	for {
		select {
		case t.slots <- struct{}{}:
		case <-t.ctx.Done():
			return
		}
		conn, err := t.tcp.Accept()
		if err != nil {
			<-t.slots
			if errors.Is(err, net.ErrClosed) || !await(t.ctx, nil, time.After(100*time.Millisecond)) {
				return
			}
			continue // out of descriptors: those in use will be closed
		}
		if !t.admits(conn.RemoteAddr().(*net.TCPAddr).AddrPort().Addr()) {
			conn.Close()
			<-t.slots
			continue
		}
		t.conns.Add(1)
		c := t.track(conn, func() { <-t.slots; t.conns.Done() })
		if c == nil {
			return
		}
		select {
		case t.streams <- c:
		case <-t.ctx.Done():
			c.Close()
			return
		}
	}
}

// track returns conn with a bound, to be closed when the transport is shut down.
// closed is called once when it is. After the shutdown it returns nil.
func (t *transport) track(conn net.Conn, closed func()) *boundedConn {
	c := &boundedConn{Conn: conn, left: maxStream}
	c.closed = func() {
		t.mu.Lock()
		delete(t.open, c)
		t.mu.Unlock()
		closed()
	}
	t.mu.Lock()
	down := t.down
	if !down {
		t.open[c] = true
	}
	t.mu.Unlock()
	if down {
		c.Close()
		return nil
	}
	return c
}

// boundedConn is a connection of which only so much can be read.
type boundedConn struct {
	net.Conn
	left   int // used by one reader
	once   sync.Once
	closed func()
}

func (c *boundedConn) Read(b []byte) (int, error) {
	if c.left == 0 {
		return 0, fmt.Errorf("gossip: stream is longer than %d bytes", maxStream)
	}
	n, err := c.Conn.Read(b[:min(len(b), c.left)])
	c.left -= n
	return n, err
}

func (c *boundedConn) Close() error {
	err := c.Conn.Close()
	c.once.Do(c.closed)
	return err
}

// FinalAdvertiseAddr implements memberlist.Transport.
func (t *transport) FinalAdvertiseAddr(ip string, port int) (net.IP, int, error) {
	addr, err := netip.ParseAddr(ip)
	if err != nil {
		return nil, 0, fmt.Errorf("gossip: advertised address: %w", err)
	}
	return addr.AsSlice(), port, nil
}

// WriteTo implements memberlist.Transport.
func (t *transport) WriteTo(b []byte, addr string) (time.Time, error) {
	to, err := netip.ParseAddrPort(addr)
	if err != nil {
		return time.Time{}, fmt.Errorf("gossip: %w", err)
	}
	_, err = t.udp.WriteToUDPAddrPort(b, to)
	return time.Now(), err
}

// PacketCh implements memberlist.Transport.
func (t *transport) PacketCh() <-chan *memberlist.Packet { return t.packets }

// DialTimeout implements memberlist.Transport. It dials from the bound address,
// which is the one that the other side knows.
func (t *transport) DialTimeout(addr string, timeout time.Duration) (net.Conn, error) {
	d := net.Dialer{Timeout: timeout}
	if local := t.Bound().Addr(); !local.IsUnspecified() {
		d.LocalAddr = &net.TCPAddr{IP: local.AsSlice(), Zone: local.Zone()}
	}
	conn, err := d.DialContext(t.dialing, "tcp", addr)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(t.dialing, func() { conn.Close() })
	c := t.track(conn, func() { stop() })
	if c == nil {
		return nil, net.ErrClosed
	}
	return c, nil
}

// StreamCh implements memberlist.Transport.
func (t *transport) StreamCh() <-chan net.Conn { return t.streams }

func (t *transport) HangUp() { t.stop() }

// Shutdown implements memberlist.Transport. It returns when nothing of the
// transport is left.
func (t *transport) Shutdown() error {
	t.mu.Lock()
	t.down = true
	open := make([]*boundedConn, 0, len(t.open))
	for c := range t.open {
		open = append(open, c)
	}
	t.mu.Unlock()
	t.end()
	err := errors.Join(t.tcp.Close(), t.udp.Close())
	for _, c := range open {
		c.Close()
	}
	t.loops.Wait()
	t.conns.Wait()
	return err
}
