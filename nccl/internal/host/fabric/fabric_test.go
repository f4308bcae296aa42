package fabric_test

import (
	"errors"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/gorun/gorun/nccl/internal/host/fabric"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// overTCP returns two Ports that are linked both ways over loopback.
func overTCP(t *testing.T) []fabric.Port {
	t.Helper()
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(t, err)
	defer l.Close()
	connect := func() (*net.TCPConn, *net.TCPConn) {
		dialed, err := net.DialTCP("tcp", nil, l.Addr().(*net.TCPAddr))
		require.NoError(t, err)
		accepted, err := l.AcceptTCP()
		require.NoError(t, err)
		return dialed, accepted
	}
	zeroOut, oneIn := connect()
	oneOut, zeroIn := connect()
	zero, err := fabric.TCP(map[int]*net.TCPConn{1: zeroIn}, map[int]*net.TCPConn{1: zeroOut}, false)
	require.NoError(t, err)
	one, err := fabric.TCP(map[int]*net.TCPConn{0: oneIn}, map[int]*net.TCPConn{0: oneOut}, true)
	require.NoError(t, err)
	return []fabric.Port{zero, one}
}

func forEach(t *testing.T, test func(t *testing.T, ports []fabric.Port)) {
	for name, make := range map[string]func(*testing.T) []fabric.Port{
		"pipe": func(*testing.T) []fabric.Port { return fabric.Local(2) },
		"tcp":  overTCP,
	} {
		t.Run(name, func(t *testing.T) {
			ports := make(t)
			defer ports[0].Close()
			defer ports[1].Close()
			test(t, ports)
		})
	}
}

// send sends all of b from one Port to rank to.
func send(p fabric.Port, to int, b []byte) error {
	for len(b) > 0 {
		n, err := p.TrySend(to, b)
		if err != nil {
			return err
		}
		if b = b[n:]; n == 0 {
			p.Wait(-1, to)
		}
	}
	return nil
}

// recv fills b from rank from.
func recv(p fabric.Port, from int, b []byte) error {
	for len(b) > 0 {
		n, err := p.TryRecv(from, b)
		if err != nil {
			return err
		}
		if b = b[n:]; n == 0 {
			p.Wait(from, -1)
		}
	}
	return nil
}

func TestBytesArriveInOrder(t *testing.T) {
	forEach(t, func(t *testing.T, ports []fabric.Port) {
		rapid.Check(t, func(r *rapid.T) {
			sent := rapid.SliceOfN(rapid.Byte(), 0, 1000).Draw(r, "bytes")
			for range rapid.IntRange(0, 10).Draw(r, "doublings") {
				sent = append(sent, sent...)
			}
			got := make([]byte, len(sent))
			var err error
			var sending sync.WaitGroup
			sending.Go(func() { err = send(ports[0], 1, sent) })
			require.NoError(r, recv(ports[1], 0, got))
			sending.Wait()
			require.NoError(r, err)
			require.Equal(r, sent, got)
		})
	})
}

func TestNothingBlocks(t *testing.T) {
	forEach(t, func(t *testing.T, ports []fabric.Port) {
		n, err := ports[1].TryRecv(0, make([]byte, 10))
		require.NoError(t, err)
		require.Zero(t, n)
		sent := 0
		for {
			n, err := ports[0].TrySend(1, make([]byte, 1<<20))
			require.NoError(t, err)
			if sent += n; n == 0 {
				break
			}
		}
		require.NoError(t, recv(ports[1], 0, make([]byte, sent)))
		ports[0].Wait(-1, 1)
	})
}

func TestWakeEndsOneWait(t *testing.T) {
	forEach(t, func(t *testing.T, ports []fabric.Port) {
		ports[0].Wake()
		ports[0].Wait(1, -1) // the wake is remembered
		var waiting sync.WaitGroup
		waiting.Go(func() { ports[0].Wait(1, -1) })
		ports[0].Wake()
		waiting.Wait()
	})
}

func TestWhatWasSentBeforeCloseArrives(t *testing.T) {
	forEach(t, func(t *testing.T, ports []fabric.Port) {
		require.NoError(t, send(ports[0], 1, []byte("last words")))
		require.NoError(t, ports[0].Close())
		got := make([]byte, 10)
		require.NoError(t, recv(ports[1], 0, got))
		require.Equal(t, "last words", string(got))
		require.ErrorIs(t, recv(ports[1], 0, got), fabric.ErrBroken)
	})
}

func TestCloseBreaksSending(t *testing.T) {
	forEach(t, func(t *testing.T, ports []fabric.Port) {
		var err error
		var sending sync.WaitGroup
		sending.Go(func() {
			for err == nil {
				err = send(ports[0], 1, make([]byte, 1<<16))
			}
		})
		require.NoError(t, recv(ports[1], 0, make([]byte, 1<<20)))
		require.NoError(t, ports[1].Close())
		sending.Wait()
		require.True(t, errors.Is(err, fabric.ErrBroken), "%v", err)
	})
}
