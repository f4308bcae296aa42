package gossip_test

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/gorun/gorun/rendezvous/gossip"
)

// memnet is a network in memory, for virtual time. Node i has the address
// 10.0.0.1 + i, and what blocked says does not get through: packets are lost, and
// dialing times out.
type memnet struct {
	blocked func(from, to int) bool // streams, and packets too if lossy is nil
	lossy   func(from, to int) bool // packets
	dialing time.Duration           // it takes to open a stream

	mu    sync.Mutex
	ports map[int]*memport
}

func memAddr(node int) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, byte((node + 1) >> 8), byte(node + 1)}), 7946)
}

func memNode(addr string) int {
	ip := netip.MustParseAddrPort(addr).Addr().As4()
	return int(ip[2])<<8 + int(ip[3]) - 1
}

// listen is what JoinOver asks for.
func (m *memnet) listen(bind netip.AddrPort) (gossip.Network, error) {
	p := &memport{
		net:     m,
		node:    memNode(bind.String()),
		packets: make(chan *memberlist.Packet, 1024),
		streams: make(chan net.Conn, 1024),
		hung:    make(chan struct{}),
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ports[p.node] = p
	return p, nil
}

// way returns the port of the node at addr, or nil if blocked says that nothing
// gets there.
func (m *memnet) way(from int, addr string, blocked func(from, to int) bool) *memport {
	to := memNode(addr)
	if blocked(from, to) {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ports[to]
}

type memport struct {
	net     *memnet
	node    int
	packets chan *memberlist.Packet
	streams chan net.Conn
	hang    sync.Once
	hung    chan struct{}
	down    bool // under net.mu: streams are refused
}

func (p *memport) Bound() netip.AddrPort               { return memAddr(p.node) }
func (p *memport) Admit(map[netip.Addr]bool)           {}
func (p *memport) HangUp()                             { p.hang.Do(func() { close(p.hung) }) }
func (p *memport) StreamCh() <-chan net.Conn           { return p.streams }
func (p *memport) PacketCh() <-chan *memberlist.Packet { return p.packets }

func (p *memport) FinalAdvertiseAddr(ip string, port int) (net.IP, int, error) {
	return net.ParseIP(ip), port, nil
}

func (p *memport) WriteTo(b []byte, addr string) (time.Time, error) {
	blocked := p.net.lossy
	if blocked == nil {
		blocked = p.net.blocked
	}
	if to := p.net.way(p.node, addr, blocked); to != nil {
		from := net.UDPAddrFromAddrPort(memAddr(p.node))
		select {
		case to.packets <- &memberlist.Packet{Buf: append([]byte{}, b...), From: from, Timestamp: time.Now()}:
		default: // a full queue loses packets
		}
	}
	return time.Now(), nil
}

func (p *memport) DialTimeout(addr string, timeout time.Duration) (net.Conn, error) {
	to := p.net.way(p.node, addr, p.net.blocked)
	if to == nil {
		timer := time.NewTimer(timeout)
		defer timer.Stop()
		select {
		case <-timer.C:
			return nil, fmt.Errorf("dial %s: %w", addr, os.ErrDeadlineExceeded)
		case <-p.hung:
			return nil, net.ErrClosed
		}
	}
	time.Sleep(p.net.dialing)
	p.net.mu.Lock()
	defer p.net.mu.Unlock()
	if to.down {
		return nil, errors.New("connection refused")
	}
	ours, theirs := net.Pipe()
	to.streams <- theirs // a thousand fit
	return ours, nil
}

func (p *memport) Shutdown() error {
	p.net.mu.Lock()
	defer p.net.mu.Unlock()
	p.down = true
	for {
		select {
		case conn := <-p.streams:
			conn.Close()
		default:
			return nil
		}
	}
}
