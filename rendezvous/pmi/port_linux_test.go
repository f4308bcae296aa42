package pmi_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

// openPort serves the first host of w through a port until the test ends, and
// returns what dials it and a function that waits for what was noted.
func openPort(t *testing.T, w *world) (dial func() *client, noted <-chan error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	notes := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	var serveErr error
	w.serving.Go(func() { serveErr = w.servers[0].ServePort(ctx, l, func(err error) { notes <- err }) })
	t.Cleanup(func() {
		cancel()
		w.serving.Wait()
		require.NoError(t, serveErr)
	})
	return func() *client {
		conn, err := net.Dial("tcp4", l.Addr().String())
		require.NoError(t, err)
		t.Cleanup(func() { conn.Close() })
		return &client{t, conn, bufio.NewReader(conn)}
	}, notes
}

func TestClientsOfThePortAreToldTheirPlace(t *testing.T) {
	w := newWorld(t, 2)
	dial, _ := openPort(t, w)
	c := dial()
	require.Equal(t, "cmd=initack", c.ask("cmd=initack pmiid=1"))
	for _, want := range []string{"cmd=set size=2\n", "cmd=set rank=1\n", "cmd=set debug=0\n"} {
		line, err := c.in.ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, want, line)
	}
	c.ask(initLine)
	require.Equal(t, []int{1}, w.joined)
	require.Equal(t, "cmd=finalize_ack", c.ask("cmd=finalize"))
	require.True(t, w.servers[0].End(1).Finalized)
}

func TestSlurmsPMI2SaysItsRankInTheFirstFrame(t *testing.T) {
	w := newWorld(t, 2)
	dial, _ := openPort(t, w)
	c := dial()
	require.Equal(t, "cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0", c.ask(initLine2))
	require.Contains(t, c.ask2("cmd=fullinit;srcid=1;threaded=FALSE;"), ";rank=1;size=2;")
	require.Equal(t, []int{1}, w.joined)
	require.Equal(t, "cmd=finalize-response;rc=0;", c.ask2("cmd=finalize;"))
	require.True(t, w.servers[0].End(1).Finalized)
}

func TestWhoIsNoRankIsHungUpOn(t *testing.T) {
	w := newWorld(t, 1, 1)
	dial, noted := openPort(t, w)
	for _, said := range []string{
		"GET / HTTP/1.0\n", "cmd=initack pmiid=x\n", initLine + "\n",
		initLine2 + "\n13    cmd=fullinit;", initLine2 + "\n123456", initLine2 + "\nx",
	} {
		c := dial()
		c.send(said)
		require.NoError(t, c.conn.(*net.TCPConn).CloseWrite())
		_, err := io.ReadAll(c.in)
		if err != nil { // closed with something unread
			require.True(t, errors.As(err, new(net.Error)), err)
		}
	}
	require.Empty(t, noted)
	dial().ask("cmd=initack pmiid=1")
	require.EqualError(t, <-noted, "pmi: rank 1 is not on node0")
}
