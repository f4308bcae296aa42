package pmi

import (
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhoseEndOfAConnection(t *testing.T) {
	rank, agent := netip.MustParseAddrPort("127.0.0.1:40000"), netip.MustParseAddrPort("127.0.0.1:1234")
	row := func(local, remote netip.AddrPort, state, uid string) string {
		return "   7: " + kernelAddr(local) + " " + kernelAddr(remote) + " " + state + " 00000000:00000000 00:00000000 00000000  " + uid + "        0 4711 1\n"
	}
	const head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
	ours := row(agent, rank, "01", "5")
	for name, c := range map[string]struct {
		table string
		uid   int
		ok    bool
	}{
		"the other end":         {head + ours + row(rank, agent, "01", "1000"), 1000, true},
		"root's":                {head + row(rank, agent, "01", "0"), 0, true},
		"closed by its process": {head + row(rank, agent, "05", "0"), 0, false},
		"our end only":          {head + ours, 0, false},
		"another port":          {head + row(netip.AddrPortFrom(rank.Addr(), 1), agent, "01", "1000"), 0, false},
		"no number":             {head + row(rank, agent, "01", "x"), 0, false},
		"cut short":             {"   7: " + kernelAddr(rank) + " " + kernelAddr(agent) + " 01", 0, false},
		"nothing":               {"", 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			uid, ok := holder(strings.NewReader(c.table), rank, agent)
			require.Equal(t, c.uid, uid)
			require.Equal(t, c.ok, ok)
		})
	}
}

// The kernel's own table, of a connection of this process.
func TestWhoseEndByTheKernel(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	here, err := net.Dial("tcp4", l.Addr().String())
	require.NoError(t, err)
	defer here.Close()
	accepted, err := l.Accept()
	require.NoError(t, err)
	defer accepted.Close()
	require.True(t, ownLoopbackPeer(accepted))
	table, err := os.Open("/proc/net/tcp")
	require.NoError(t, err)
	defer table.Close()
	uid, ok := holder(table, here.LocalAddr().(*net.TCPAddr).AddrPort(), here.RemoteAddr().(*net.TCPAddr).AddrPort())
	require.True(t, ok)
	require.Equal(t, os.Geteuid(), uid)
}
