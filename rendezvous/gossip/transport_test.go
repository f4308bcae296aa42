package gossip_test

import (
	"bytes"
	"io"
	"net"
	"net/netip"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/internal/garbage"
	"github.com/gorun/gorun/rendezvous"
	"github.com/gorun/gorun/rendezvous/gossip"
)

// Ten thousand inputs at its port, most of them nearly what a member says, neither
// crash a member nor stay in it nor make it deaf.
func TestGarbage(t *testing.T) {
	hosts := roster(2, 1)
	truth := overheard(t, hosts)
	c := start(t, hosts, func(_ int, conf *gossip.Config) { conf.Relay = nil })
	c.open(hosts)
	c.meet(t)
	c.whole(t)
	udp, err := net.Dial("udp", c.addrs[0].String())
	require.NoError(t, err)
	defer udp.Close()
	feed := func(n int) {
		i := 0
		for input := range garbage.Inputs(n, truth, gossip.Message(1)) {
			_, err := udp.Write(input)
			require.NoError(t, err)
			if i++; i%2 > 0 {
				c.nodes[0].Deliver(1, input) // an error, or what an agent may say
				continue
			}
			tcp, err := net.Dial("tcp", c.addrs[0].String())
			require.NoError(t, err)
			tcp.Write(input)
			require.NoError(t, tcp.(*net.TCPConn).CloseWrite())
			io.Copy(io.Discard, tcp)
			tcp.Close()
		}
	}
	kept, taken := garbage.Flood(feed)
	require.Less(t, kept, int64(2<<20), "bytes are kept")
	require.Less(t, taken, int64(128<<10), "bytes are taken for each input")
	c.eachRank(t, talk)
}

// overheard returns what a member says to another that it connects to.
func overheard(t *testing.T, hosts []rendezvous.Host) []byte {
	tap, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer tap.Close()
	c := start(t, hosts, func(_ int, conf *gossip.Config) { conf.Relay = nil })
	require.NoError(t, c.nodes[0].Meet(c.addrs[0], tap.Addr().(*net.TCPAddr).AddrPort()))
	conn, err := tap.Accept()
	require.NoError(t, err)
	defer conn.Close()
	said := make([]byte, 64)
	_, err = io.ReadFull(conn, said)
	require.NoError(t, err)
	return said
}

func TestOnlyTheRosterIsListenedTo(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs a second loopback address")
	}
	c := start(t, roster(2, 1), nil)
	c.meet(t)
	c.whole(t)
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	conn, err := d.DialContext(t.Context(), "tcp", c.addrs[0].String())
	require.NoError(t, err)
	defer conn.Close()
	_, err = conn.Read(make([]byte, 1))
	require.Error(t, err, "hung up on before it says anything")
}

// What goes over the network and the relay can be read by nobody else. The relay
// is protected by SSH, so here it is silent.
func TestValuesAreEncrypted(t *testing.T) {
	hosts := roster(2, 1)
	secret := bytes.Repeat([]byte("secret"), 100)
	tap, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer tap.Close()
	c := start(t, hosts, func(_ int, conf *gossip.Config) { conf.Relay = nil })
	c.open(hosts)
	addrs := []netip.AddrPort{c.addrs[0], tap.Addr().(*net.TCPAddr).AddrPort()}
	require.NoError(t, c.nodes[0].Meet(addrs...)) // node 1 is where we listen in
	require.NoError(t, c.jobs[0].Put(t.Context(), "k", secret))
	seen := 0
	for seen < len(secret) { // the streams are joining, opening and the value
		conn, err := tap.Accept()
		require.NoError(t, err)
		require.NoError(t, conn.SetDeadline(time.Now().Add(10*time.Second)))
		b, _ := io.ReadAll(io.LimitReader(conn, 1<<20))
		conn.Close()
		require.NotContains(t, string(b), "secret")
		require.NotContains(t, string(b), "gorg")
		seen = max(seen, len(b))
	}
}

func TestMessagesAreChecked(t *testing.T) {
	c := start(t, roster(3, 1), nil)
	from1 := gossip.Message(1)
	require.NoError(t, c.nodes[0].Deliver(1, from1))
	require.ErrorContains(t, c.nodes[0].Deliver(2, from1), "message of node 1 came to node 0 from node 2")
	require.ErrorContains(t, c.nodes[1].Deliver(1, from1), "message of node 1 came to node 1")
	require.ErrorContains(t, c.nodes[0].Deliver(3, gossip.Message(3)), "message of node 3")
	require.ErrorContains(t, c.nodes[0].Deliver(1, make([]byte, gossip.MaxMessage+1)), "at most")
	require.ErrorContains(t, c.nodes[0].Deliver(1, []byte("GET / HTTP/1.1")), "magic")
	require.ErrorContains(t, c.nodes[0].Deliver(1, from1[:len(from1)-1]), "too short")
}
