//go:build linux

package agent

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/internal/garbage"
	"github.com/gorun/gorun/launcher/wire"
)

// freePorts returns so many different ports.
func freePorts(t *testing.T, count int) []int {
	t.Helper()
	p := newPorts()
	t.Cleanup(p.close)
	found := p.answer(&wire.FindPorts{Ranges: make([]wire.PortRange, count)})
	require.NotContains(t, found.Ports, 0)
	return found.Ports
}

func lightAt(t *testing.T, port int, token string, addrs ...string) {
	t.Helper()
	t.Cleanup(light(&wire.Probe{Listen: addrs, Port: port, Token: []byte(token)}).close)
}

func TestProbeFindsHosts(t *testing.T) {
	ports := freePorts(t, 2)
	ours, others := ports[0], ports[1]
	lightAt(t, ours, "ours", "127.0.0.2", "127.0.0.3")
	lightAt(t, others, "others", "127.0.0.2")
	target := func(port int, addrs ...string) wire.Target {
		return wire.Target{Addrs: addrs, Port: port, Token: []byte("ours")}
	}
	for name, c := range map[string]struct {
		target  wire.Target
		reached int
	}{
		"at its best address":                        {target(ours, "127.0.0.2", "127.0.0.3"), 0},
		"at the next, where nobody is at the first":  {target(ours, "127.0.0.4", "127.0.0.3"), 1},
		"at the last, where the first is no address": {target(ours, "256.0.0.1", "127.0.0.4", "127.0.0.2"), 2},
	} {
		t.Run(name, func(t *testing.T) {
			seen := lookFor(t.Context(), c.target)
			require.Contains(t, seen.Reached, c.reached)
			require.NotContains(t, seen.Reached, c.reached-1)
		})
	}
	t.Run("not another host that has the address", func(t *testing.T) {
		seen := lookFor(t.Context(), target(others, "127.0.0.2"))
		require.Empty(t, seen.Reached)
		require.Equal(t, errOtherHost.Error(), seen.Error)
	})
	t.Run("not for ever", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		answer := probe(ctx, []wire.Target{target(ours, "127.0.0.4"), target(ours, "127.0.0.5")})
		require.Len(t, answer.Seen, 2)
		require.Empty(t, answer.Seen[0].Reached)
		require.NotEmpty(t, answer.Seen[0].Error)
	})
}

func TestProbeWaitsForAHostThatIsLate(t *testing.T) {
	port := freePorts(t, 1)[0]
	done := make(chan wire.Sighting)
	go func() {
		done <- lookFor(t.Context(), wire.Target{Addrs: []string{"127.0.0.2"}, Port: port, Token: []byte("late")})
	}()
	lightAt(t, port, "late", "127.0.0.2")
	require.Equal(t, []int{0}, (<-done).Reached)
}

func TestABeaconEndsWithGuestsThatStay(t *testing.T) {
	port := freePorts(t, 1)[0]
	b := light(&wire.Probe{Listen: []string{"127.0.0.2", "240.0.0.1"}, Port: port, Token: []byte("x")})
	conn, err := net.DialTCP("tcp", nil, net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr("127.0.0.2"), uint16(port))))
	require.NoError(t, err)
	defer conn.Close()
	_, err = conn.Read(make([]byte, 1))
	require.NoError(t, err)
	b.close()
	_, err = conn.Read(make([]byte, 1))
	require.Error(t, err)
}

// A host that is looked for by what is no host tells it the token, keeps nothing,
// and is found as before.
func TestABeaconOutlivesGarbage(t *testing.T) {
	port := freePorts(t, 1)[0]
	lightAt(t, port, "token", "127.0.0.2")
	addr := net.JoinHostPort("127.0.0.2", strconv.Itoa(port))
	feed := func(n int) {
		i := 0
		for input := range garbage.Inputs(n, []byte("token")) {
			conn, err := net.Dial("tcp", addr)
			require.NoError(t, err)
			conn.Write(input)
			if i++; i%200 == 0 {
				t.Cleanup(func() { conn.Close() }) // stays as long as it is let
				continue
			}
			conn.(*net.TCPConn).CloseWrite()
			io.Copy(io.Discard, conn)
			conn.Close()
		}
	}
	kept, taken := garbage.Flood(feed)
	require.Less(t, kept, int64(2<<20), "bytes are kept")
	require.Less(t, taken, int64(64<<10), "bytes are taken for each input")
	seen := lookFor(t.Context(), wire.Target{Addrs: []string{"127.0.0.2"}, Port: port, Token: []byte("token")})
	require.Equal(t, []int{0}, seen.Reached)
}

// What answers with anything else is not the host that is looked for.
func TestGarbageIsNoHost(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	token := []byte("sixteen bytes...")
	var answering sync.WaitGroup
	defer answering.Wait()
	defer l.Close()
	const inputs = 1000
	answering.Go(func() {
		for input := range garbage.Inputs(inputs, token) {
			if bytes.HasPrefix(input, token) { // noise can be right
				input[0]++
			}
			conn, err := l.Accept()
			if err != nil {
				return
			}
			conn.Write(input)
			conn.Close()
		}
	})
	used, _ := garbage.Heap()
	for range inputs {
		require.Error(t, meets(t.Context(), l.Addr().String(), token))
	}
	later, _ := garbage.Heap()
	require.Less(t, later-used, int64(2<<20), "bytes are kept")
}

func TestInterfaces(t *testing.T) {
	byName := map[string]wire.Interface{}
	for _, i := range interfaces() {
		byName[i.Name] = i
	}
	require.Contains(t, byName["lo"].Addrs, "127.0.0.1/8")
	require.True(t, byName["lo"].Up)
	// The same as the library's, which is slower.
	all, err := net.Interfaces()
	require.NoError(t, err)
	for _, i := range all {
		addrs, err := i.Addrs()
		require.NoError(t, err)
		for _, a := range addrs {
			if !strings.HasPrefix(a.String(), "fe80:") { // perhaps not usable yet
				require.Contains(t, byName[i.Name].Addrs, a.String())
			}
		}
	}
}
