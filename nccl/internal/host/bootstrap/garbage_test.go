package bootstrap

import (
	"bytes"
	"crypto/sha256"
	"io"
	"net"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/internal/garbage"
)

var testAddr = netip.MustParseAddr("127.0.0.1")

// What does not know the ID gets nothing and leaves nothing, and does not keep
// ranks from coming.
func TestListenersOutliveGarbage(t *testing.T) {
	root, id, err := Listen(testAddr)
	require.NoError(t, err)
	defer root.Close()
	at, err := id.Root()
	require.NoError(t, err)
	k := id.keys()
	// Who overhears a rank knows all of this but the last proof.
	truth := slices.Concat(k.magic[:], []byte{0, 0, 0, byte(checkIn), 0, 0, 0, 1, 255, 255, 255, 255, 0, 0, 0, 2}, nonce(), make([]byte, sha256.Size))
	feed := func(n int) {
		i := 0
		for input := range garbage.Inputs(n, truth) {
			conn, err := net.Dial("tcp", at.String())
			require.NoError(t, err)
			conn.Write(input)
			if i++; i%100 == 0 {
				t.Cleanup(func() { conn.Close() }) // stays as long as it is let
				continue
			}
			conn.(*net.TCPConn).CloseWrite()
			answer, _ := io.ReadAll(conn)
			if !bytes.HasPrefix(input, k.magic[:]) {
				require.Empty(t, answer)
			}
			conn.Close()
		}
	}
	kept, taken := garbage.Flood(feed)
	require.Less(t, kept, int64(2<<20), "bytes are kept")
	require.Less(t, taken, int64(64<<10), "bytes are taken for each input")
	require.Zero(t, root.Seated())
	var wg sync.WaitGroup
	for rank := range 2 {
		wg.Go(func() {
			ring, err := Join(t.Context(), Config{ID: id, Rank: rank, Size: 2, Addr: testAddr})
			if err == nil {
				ring.abandon()
			}
			if rank == 0 {
				require.NoError(t, err)
			}
		})
	}
	wg.Wait()
}

// shake runs a handshake between two sides and returns what each says of it.
func shake(dialer, listener keys, said hello, between func(net.Conn, net.Conn)) (heard hello, dialErr, acceptErr error) {
	d, dOther := net.Pipe()
	l, lOther := net.Pipe()
	var wg sync.WaitGroup
	wg.Go(func() { between(dOther, lOther) })
	wg.Go(func() {
		dialErr = dialer.dialed(d, said)
		d.Close()
	})
	heard, acceptErr = listener.accepted(l)
	l.Close()
	wg.Wait()
	return heard, dialErr, acceptErr
}

// pass copies both ways, and changes byte number flip, counted in the order of
// the messages, if it is not negative.
func pass(flip int) func(net.Conn, net.Conn) {
	return func(d, l net.Conn) {
		defer d.Close()
		defer l.Close()
		for _, m := range []struct {
			from, to net.Conn
			size     int
		}{{d, l, helloSize}, {l, d, welcomeSize}, {d, l, 32}} {
			b := make([]byte, m.size)
			if _, err := io.ReadFull(m.from, b); err != nil {
				return
			}
			if flip >= 0 && flip < m.size {
				b[flip] ^= 1
			}
			flip -= m.size
			if _, err := m.to.Write(b); err != nil {
				return
			}
		}
	}
}

func TestHandshakeNoticesEveryChangedByte(t *testing.T) {
	id := newID(netip.MustParseAddrPort("127.0.0.1:1"))
	said := hello{purpose: data, from: 1, to: 2, size: 3}
	heard, dialErr, acceptErr := shake(id.keys(), id.keys(), said, pass(-1))
	require.NoError(t, dialErr)
	require.NoError(t, acceptErr)
	require.Equal(t, said, heard)
	for flip := range helloSize + welcomeSize + 32 {
		_, _, acceptErr := shake(id.keys(), id.keys(), said, pass(flip))
		require.Error(t, acceptErr, "byte %d", flip)
	}
}

func TestHandshakeNeedsOneID(t *testing.T) {
	a, b := newID(netip.MustParseAddrPort("127.0.0.1:1")), newID(netip.MustParseAddrPort("127.0.0.1:1"))
	_, dialErr, acceptErr := shake(a.keys(), b.keys(), hello{}, pass(-1))
	require.Error(t, dialErr)
	require.ErrorIs(t, acceptErr, errHandshake)
	// The listener proves itself too: one that only knows the magic is found out.
	thief := b.keys()
	thief.magic = a.keys().magic
	_, dialErr, _ = shake(a.keys(), thief, hello{}, pass(-1))
	require.ErrorIs(t, dialErr, errHandshake)
}

func TestALaterContextClosesTheListener(t *testing.T) {
	tcp, err := listen(testAddr)
	require.NoError(t, err)
	l := serve(tcp, keys{}, 0, 2)
	conn, err := net.Dial("tcp", tcp.Addr().String())
	require.NoError(t, err)
	defer conn.Close()
	l.close() // although a connection says nothing
	conn.SetReadDeadline(time.Now().Add(time.Minute))
	_, err = conn.Read(make([]byte, 1))
	require.Error(t, err)
}

func FuzzFrame(f *testing.F) {
	f.Add([]byte{0, 2, 1, 2})
	f.Add([]byte{0xff, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		payload, err := readFrame(bytes.NewReader(b))
		if err != nil {
			return
		}
		var again bytes.Buffer
		require.NoError(t, writeFrame(&again, payload))
		require.Equal(t, b[:again.Len()], again.Bytes())
	})
}

func FuzzID(f *testing.F) {
	for _, at := range []string{"127.0.0.1:80", "[fd00::1]:29500"} {
		id := newID(netip.MustParseAddrPort(at))
		f.Add(id[:])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) != len(ID{}) {
			return
		}
		id := ID(b)
		at, err := id.Root()
		if err == nil {
			require.True(t, at.IsValid())
			require.NotZero(t, at.Port())
		}
	})
}

func TestIDLeadsToItsRoot(t *testing.T) {
	for _, at := range []string{"10.1.2.3:4567", "[fd00::1]:29500"} {
		id := newID(netip.MustParseAddrPort(at))
		got, err := id.Root()
		require.NoError(t, err)
		require.Equal(t, at, got.String())
		require.NotEqual(t, id.keys(), (&ID{}).keys())
	}
}
