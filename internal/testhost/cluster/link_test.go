//go:build linux

package cluster_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/gorun/gorun/internal/testhost/cluster"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
)

// patience bounds what is awaited and surely comes.
const patience = 20 * time.Second

// A mailbox receives datagrams on a host and can send them from there.
type mailbox struct {
	t    *testing.T
	conn net.PacketConn
	got  chan string
	all  []string // taken from got
}

func newMailbox(t *testing.T, h *cluster.Host, addr netip.Addr) *mailbox {
	conn, err := h.ListenPacket(t.Context(), "udp", netip.AddrPortFrom(addr, 0).String())
	require.NoError(t, err)
	m := &mailbox{t: t, conn: conn, got: make(chan string, 4096)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		buffer := make([]byte, 64)
		for {
			n, _, err := conn.ReadFrom(buffer)
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err == nil { // others are news of unreachable peers
				m.got <- string(buffer[:n])
			}
		}
	}()
	t.Cleanup(func() {
		conn.Close()
		<-ended
	})
	return m
}

// send sends a datagram. Its loss, noticed or not, is what tests are about.
func (m *mailbox) send(to *mailbox, text string) {
	m.conn.WriteTo([]byte(text), to.conn.LocalAddr())
}

// deliver sends a datagram until it arrives.
func (m *mailbox) deliver(to *mailbox, text string) {
	m.t.Helper()
	require.Eventually(m.t, func() bool {
		m.send(to, text)
		return to.has(text)
	}, patience, 10*time.Millisecond, "%q does not arrive", text)
}

// has reports whether a datagram has come so far.
func (m *mailbox) has(text string) bool {
	for {
		select {
		case got := <-m.got:
			m.all = append(m.all, got)
		default:
			return slices.Contains(m.all, text)
		}
	}
}

func TestCutAndHeal(t *testing.T) {
	c := cluster.New(t, cluster.Config{Hosts: 3})
	a, b, other := c.Hosts[0], c.Hosts[1], c.Hosts[2]
	both := []bool{false, false}
	for _, test := range []struct {
		name    string
		cut     func() error
		passes  []bool // from a to b, from b to a
		others  bool   // a and the third host still hear each other
		feature *cluster.Feature
	}{
		{name: "link", cut: a.Cut, passes: both},
		{name: "outgoing", cut: func() error { return a.CutOutgoing() }, passes: []bool{false, true}},
		{name: "outgoing to one", cut: func() error { return a.CutOutgoing(b) }, passes: []bool{false, true}, others: true},
		{name: "incoming", cut: func() error { return a.CutIncoming() }, passes: []bool{true, false}},
		{name: "incoming from one", cut: func() error { return a.CutIncoming(b) }, passes: []bool{true, false}, others: true},
		{name: "all dropped", cut: func() error { return a.Drop(100) }, passes: both, feature: cluster.Dropping},
		{name: "outgoing dropped", cut: func() error { return a.DropOutgoing(100) }, passes: []bool{false, true}, feature: cluster.Dropping},
		{name: "incoming dropped", cut: func() error { return a.DropIncoming(100) }, passes: []bool{true, false}, feature: cluster.Dropping},
	} {
		for _, addr := range []func(*cluster.Host) netip.Addr{
			func(h *cluster.Host) netip.Addr { return h.Addr },
			func(h *cluster.Host) netip.Addr { return h.Addr6 },
		} {
			if !addr(a).IsValid() {
				continue // this kernel has no IPv6
			}
			t.Run(test.name+" "+addr(a).String(), func(t *testing.T) {
				if test.feature != nil {
					cluster.Need(t, test.feature)
				}
				boxA, boxB, boxOther := newMailbox(t, a, addr(a)), newMailbox(t, b, addr(b)), newMailbox(t, other, addr(other))
				ways := [][2]*mailbox{{boxA, boxB}, {boxB, boxA}}
				// Once both know each other's hardware address, nothing waits for that.
				for _, way := range ways {
					way[0].deliver(way[1], "before")
				}

				require.NoError(t, test.cut())
				for i, way := range ways {
					if test.passes[i] {
						way[0].deliver(way[1], "while cut")
						continue
					}
					way[0].send(way[1], "lost")
					way[1].deliver(way[1], "from itself") // had it not been lost, it had come before
					require.NotContains(t, way[1].all, "lost")
				}
				if test.others {
					boxA.deliver(boxOther, "while cut")
					boxOther.deliver(boxA, "while cut")
				}

				require.NoError(t, a.Heal())
				for _, way := range ways {
					way[0].deliver(way[1], "after")
				}
			})
		}
	}
}

func TestDropLosesAShare(t *testing.T) {
	c := cluster.New(t, cluster.Config{Hosts: 2})
	cluster.Need(t, cluster.Dropping)
	a, b := newMailbox(t, c.Hosts[0], c.Hosts[0].Addr), newMailbox(t, c.Hosts[1], c.Hosts[1].Addr)
	a.deliver(b, "before")
	b.all = nil

	require.NoError(t, c.Hosts[0].Drop(50))
	const sent = 200 // which a socket's buffer holds
	for i := range sent {
		a.send(b, strconv.Itoa(i))
	}
	require.NoError(t, c.Hosts[0].Heal())
	a.deliver(b, "after")

	// Binomial with a deviation of 7: 50 are 7 deviations from the mean.
	got := len(b.all)
	require.Greater(t, got, 50)
	require.Less(t, got, 150)
}

// stream sends the data from one host to another and returns what arrived.
func stream(t *testing.T, from, to *cluster.Host, data []byte) []byte {
	listener, err := to.Listen(t.Context(), "tcp", netip.AddrPortFrom(to.Addr, 0).String())
	require.NoError(t, err)
	defer listener.Close()
	conn, err := from.Dial(t.Context(), "tcp", listener.Addr().String())
	require.NoError(t, err)
	defer conn.Close()

	var group errgroup.Group
	group.Go(func() error {
		if _, err := conn.Write(data); err != nil {
			return err
		}
		return conn.(*net.TCPConn).CloseWrite()
	})
	var got []byte
	group.Go(func() error {
		conn, err := listener.Accept()
		if err != nil {
			return err
		}
		defer conn.Close()
		got, err = io.ReadAll(conn)
		return err
	})
	require.NoError(t, group.Wait())
	return got
}

// A slow or distant link is one on which nothing takes less than its time, on
// however busy a machine; that is all these tests say of time.

func TestSlow(t *testing.T) {
	c := cluster.New(t, cluster.Config{Hosts: 1})
	cluster.Need(t, cluster.Slowing)
	node := c.Hosts[0]
	const rate = 1 << 20
	require.NoError(t, node.Slow(rate))
	data := make([]byte, rate/2)
	for name, way := range map[string][2]*cluster.Host{"outgoing": {node, c.Head}, "incoming": {c.Head, node}} {
		start := time.Now()
		require.True(t, bytes.Equal(data, stream(t, way[0], way[1], data)), name)
		// Less the bucket that was full at the start.
		require.Greater(t, time.Since(start), 400*time.Millisecond, name)
	}
	require.ErrorContains(t, node.Slow(0), "expected a positive number")

	require.NoError(t, node.Heal())
	out, err := node.Run(t.Context(), cluster.Root, "tc", "qdisc", "show", "dev", "eth0")
	require.NoError(t, err)
	require.NotContains(t, out, "tbf")
}

func TestDelay(t *testing.T) {
	c := cluster.New(t, cluster.Config{Hosts: 2})
	cluster.Need(t, cluster.Delaying)
	node := c.Hosts[0]
	const delay = 50 * time.Millisecond
	require.NoError(t, node.Delay(delay))

	a, b := newMailbox(t, node, node.Addr), newMailbox(t, c.Hosts[1], c.Hosts[1].Addr)
	a.deliver(b, "there")
	b.deliver(a, "back")
	for i := range 3 {
		question, answer := "question "+strconv.Itoa(i), "answer "+strconv.Itoa(i)
		start := time.Now()
		a.send(b, question)
		require.Eventually(t, func() bool { return b.has(question) }, patience, time.Millisecond)
		b.send(a, answer)
		require.Eventually(t, func() bool { return a.has(answer) }, patience, time.Millisecond)
		require.GreaterOrEqual(t, time.Since(start), 2*delay)
	}

	data := make([]byte, 4<<20)
	rand.Read(data)
	require.True(t, bytes.Equal(data, stream(t, node, c.Head, data)), "a stream arrives unchanged")
	require.True(t, bytes.Equal(data, stream(t, c.Head, node, data)), "a stream arrives unchanged")

	require.NoError(t, node.Delay(2*delay), "a delay is replaced")
	a.deliver(b, "later")
	require.NoError(t, node.Heal())
	a.deliver(b, "after")
	require.ErrorContains(t, node.Delay(-1), "expected none or a positive one")
}

func TestDisturbancesAddUp(t *testing.T) {
	c := cluster.New(t, cluster.Config{Hosts: 1})
	cluster.Need(t, cluster.Slowing, cluster.Dropping, cluster.Delaying)
	node := c.Hosts[0]
	require.NoError(t, node.Delay(10*time.Millisecond))
	require.NoError(t, node.Slow(4<<20))
	require.NoError(t, node.Drop(1))
	data := make([]byte, 256<<10)
	rand.Read(data)
	require.True(t, bytes.Equal(data, stream(t, node, c.Head, data)))

	// What is dropped is dropped on the delayed way too.
	a, head := newMailbox(t, node, node.Addr), newMailbox(t, c.Head, c.Head.Addr)
	a.deliver(head, "before")
	require.NoError(t, node.DropOutgoing(100))
	a.send(head, "lost")
	head.deliver(a, "against")
	require.NoError(t, node.Heal())
	a.deliver(head, "after")
	require.NotContains(t, head.all, "lost")
}
