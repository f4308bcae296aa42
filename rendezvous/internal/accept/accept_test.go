package accept_test

import (
	"errors"
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/rendezvous/internal/accept"
)

// broken is a listener to which one connection comes before it fails.
type broken struct {
	net.Listener
	conn net.Conn
}

var errBroken = errors.New("broken")

func (l *broken) Accept() (net.Conn, error) {
	conn := l.conn
	l.conn = nil
	if conn == nil {
		return nil, errBroken
	}
	return conn, nil
}

func (l *broken) Close() error { return nil }

func TestErrorDoesNotWaitForConnections(t *testing.T) {
	here, there := net.Pipe()
	defer there.Close()
	served := false
	err := accept.Each(t.Context(), &broken{conn: here}, func(conn net.Conn) {
		_, err := io.Copy(io.Discard, conn)
		served = err != nil
	})
	require.ErrorIs(t, err, errBroken)
	require.True(t, served, "the connection was closed and waited for")
}
