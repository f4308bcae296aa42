package remote

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/hostfiles"
	"github.com/gorun/gorun/internal/testhost/sshserver"
)

// nameserver is a DNS server that does not know a name until it was asked for
// it so often, and then says that it is 127.0.0.1.
type nameserver struct {
	net.PacketConn
	unknown atomic.Int32
}

func startNameserver(t testing.TB, unknown int) *nameserver {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &nameserver{PacketConn: conn}
	s.unknown.Store(int32(unknown))
	served := make(chan struct{})
	go func() {
		defer close(served)
		buf := make([]byte, 512)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			conn.WriteTo(s.answer(buf[:n]), from)
		}
	}()
	t.Cleanup(func() {
		conn.Close()
		<-served
	})
	return s
}

// answer makes the answer to a query (RFC 1035, section 4).
func (s *nameserver) answer(query []byte) []byte {
	const header, typeA = 12, 1
	end := header + bytes.IndexByte(query[header:], 0) + 1
	isA := query[end+1] == typeA
	question := query[header : end+4]
	found := s.unknown.Load() <= 0
	if isA {
		s.unknown.Add(-1)
	}
	answer := append([]byte{query[0], query[1], 0x81, 0x83, 0, 1, 0, 0, 0, 0, 0, 0}, question...)
	if found {
		answer[3] = 0x80 // no error
	}
	if found && isA {
		answer[7] = 1
		answer = append(answer, 0xc0, header, 0, typeA, 0, 1, 0, 0, 0, 0, 0, 4, 127, 0, 0, 1)
	}
	return answer
}

func (s *nameserver) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp", s.LocalAddr().String())
	}}
}

// Names of machines that are made for a job come late into DNS.
func TestNameThatComesLate(t *testing.T) {
	s := sshserver.Start(t, sshserver.Config{})
	names := startNameserver(t, 2)
	var log bytes.Buffer
	d := dialerFor(t, s.Host, SSH{AcceptNewHostKeys: true, Log: slog.New(slog.NewTextHandler(&log, nil))})
	d.resolver = names.resolver()
	c, err := d.Dial(t.Context(), hostfiles.Host{Name: "late.test."})
	require.NoError(t, err)
	require.NoError(t, c.Close())
	require.Equal(t, 2, strings.Count(log.String(), "login is tried again"), "%s", &log)
}

// Each of the hosts whose names do not come says so, and no other.
func TestNamesThatDoNotCome(t *testing.T) {
	s := sshserver.Start(t, sshserver.Config{})
	names := startNameserver(t, 1<<30)
	d := dialerFor(t, s.Host, SSH{})
	d.resolver = names.resolver()
	cause := errors.New("no answer within --start-timeout")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 300*time.Millisecond, cause)
	defer cancel()
	for _, name := range []string{"a.test.", "b.test."} {
		_, err := d.Dial(ctx, hostfiles.Host{Name: name})
		require.ErrorContains(t, err, name+": dial: ")
		require.ErrorIs(t, err, cause)
	}
	c, err := d.Dial(t.Context(), s.Entry())
	require.NoError(t, err)
	require.NoError(t, c.Close())
}

func TestAddressesWithZones(t *testing.T) {
	s, err := sshserver.New(t.TempDir(), sshserver.Config{Addr: loopback6})
	if err != nil {
		t.Skipf("no IPv6 loopback: %v", err)
	}
	defer s.Close()
	for _, name := range []string{"::1", "::1%lo"} {
		d := dialerFor(t, s.Host, SSH{AcceptNewHostKeys: true})
		entry := s.Entry()
		entry.Name = name
		c, err := d.Dial(t.Context(), entry)
		require.NoError(t, err)
		require.True(t, c.RemoteAddr().Addr().IsLoopback())
		require.NoError(t, c.Close())
	}
}
