package remote

import (
	"io"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/hostfiles"
	"github.com/gorun/gorun/internal/testhost/sshserver"
)

// relay forwards connections until it is frozen: then it takes what comes and
// passes nothing on, like a network that is gone without a word.
type relay struct {
	port   int
	frozen chan struct{}
}

func startRelay(t testing.TB, to string) *relay {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	r := &relay{l.Addr().(*net.TCPAddr).Port, make(chan struct{})}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", to)
			if err != nil {
				client.Close()
				continue
			}
			running.Go(func() { r.pass(server, client) })
			running.Go(func() { r.pass(client, server) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		running.Wait()
	})
	return r
}

// pass passes on what comes from one end, and its close.
func (r *relay) pass(to, from net.Conn) {
	io.Copy(&freezing{to, r.frozen}, from)
	to.Close()
}

type freezing struct {
	net.Conn
	frozen chan struct{}
}

func (f *freezing) Write(p []byte) (int, error) {
	select {
	case <-f.frozen:
		return len(p), nil
	default:
		return f.Conn.Write(p)
	}
}

// ReadFrom is not the connection's own, which would pass Write by.
func (f *freezing) ReadFrom(r io.Reader) (int64, error) {
	return io.Copy(struct{ io.Writer }{f}, r)
}

func TestServerAlive(t *testing.T) {
	t.Parallel()
	s := sshserver.Start(t, sshserver.Config{})
	r := startRelay(t, s.Addr.String())
	configure(t, s.Host, "ServerAliveInterval 1\nServerAliveCountMax 1")
	d := dialerFor(t, s.Host, SSH{AcceptNewHostKeys: true})
	c, err := d.Dial(t.Context(), hostfiles.Host{Name: "127.0.0.1", Port: r.port})
	require.NoError(t, err)
	stream, err := c.StartAgent(t.Context(), newProgram(t, "echo up; exec cat"), Start{})
	require.NoError(t, err)
	_, err = io.ReadFull(stream, make([]byte, 3))
	require.NoError(t, err)
	close(r.frozen)
	_, err = io.ReadAll(stream) // until the connection is given up
	require.NoError(t, err)
	require.Error(t, stream.Wait())
	require.NoError(t, stream.Close())
}

func TestServerAliveIsChecked(t *testing.T) {
	for lines, want := range map[string]string{
		"ServerAliveInterval soon": `:1: ServerAliveInterval: expected a time such as 10 or 1m30s, found "soon"`,
		"ServerAliveCountMax -1":   `:1: ServerAliveCountMax: expected a number, found "-1"`,
	} {
		s := sshserver.Start(t, sshserver.Config{})
		configure(t, s.Host, lines)
		require.ErrorContains(t, dial(t, s.Host, SSH{}), want)
	}
}
