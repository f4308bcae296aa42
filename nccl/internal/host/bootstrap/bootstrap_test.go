package bootstrap_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/gorun/gorun/nccl/internal/host/bootstrap"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var loopback = netip.MustParseAddr("127.0.0.1")

// world joins n ranks and returns their Rings.
func world(t *testing.T, n int) []*bootstrap.Ring {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	root, id, err := bootstrap.Listen(loopback)
	require.NoError(t, err)
	t.Cleanup(root.Close)
	rings := make([]*bootstrap.Ring, n)
	errs := make([]error, n)
	var wg sync.WaitGroup
	for rank := range n {
		wg.Go(func() {
			record := fmt.Appendf(nil, "rank %d", rank)
			rings[rank], errs[rank] = bootstrap.Join(ctx, bootstrap.Config{ID: id, Rank: rank, Size: n, Addr: loopback, Record: record})
		})
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
	t.Cleanup(func() {
		for _, r := range rings {
			r.StopListening()
			r.Prev.Close()
			r.Next.Close()
		}
	})
	return rings
}

// pass sends a byte over out and receives it from in.
func pass(t *testing.T, out, in net.Conn) {
	t.Helper()
	_, err := out.Write([]byte{42})
	require.NoError(t, err)
	b := make([]byte, 1)
	_, err = io.ReadFull(in, b)
	require.NoError(t, err)
	require.Equal(t, []byte{42}, b)
}

func TestJoinConnectsNeighboursAndGathersRecords(t *testing.T) {
	for _, n := range []int{2, 3, 4, 9} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			rings := world(t, n)
			for rank, r := range rings {
				for other, record := range r.Records {
					require.Equal(t, fmt.Sprintf("rank %d", other), string(record))
				}
				next := rings[(rank+1)%n]
				pass(t, r.Next, next.Prev)
				pass(t, next.Prev, r.Next)
			}
		})
	}
}

func TestConnectReachesAnyRank(t *testing.T) {
	const n, stride = 5, 2
	rings := world(t, n)
	in, out := make([]*net.TCPConn, n), make([]*net.TCPConn, n)
	errs := make([]error, n)
	var wg sync.WaitGroup
	for rank, r := range rings {
		wg.Go(func() {
			in[rank], out[rank], errs[rank] = r.Connect(t.Context(), (rank+n-stride)%n, (rank+stride)%n)
		})
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
	for rank := range n {
		pass(t, out[rank], in[(rank+stride)%n])
	}
	for rank := range n {
		in[rank].Close()
		out[rank].Close()
	}
}

func TestAllGatherForEverySize(t *testing.T) {
	for n := 1; n <= 32; n++ {
		next, prev := make([]net.Conn, n), make([]net.Conn, n)
		for rank := range n {
			next[rank], prev[(rank+1)%n] = net.Pipe()
		}
		all := make([][][]byte, n)
		errs := make([]error, n)
		var wg sync.WaitGroup
		for rank := range n {
			wg.Go(func() {
				mine := make([]byte, rank) // of different lengths, one empty
				for i := range mine {
					mine[i] = byte(rank)
				}
				all[rank], errs[rank] = bootstrap.AllGather(rank, n, prev[rank], next[rank], mine)
			})
		}
		wg.Wait()
		require.NoError(t, errors.Join(errs...))
		for rank := range n {
			for other, value := range all[rank] {
				require.Len(t, value, other, "%d ranks: rank %d has of rank %d", n, rank, other)
				for _, b := range value {
					require.Equal(t, byte(other), b)
				}
			}
			next[rank].Close()
			prev[rank].Close()
		}
	}
}

func TestAllGatherFailsEverywhereWhenARankIsGone(t *testing.T) {
	const n = 6
	next, prev := make([]net.Conn, n), make([]net.Conn, n)
	for rank := range n {
		next[rank], prev[(rank+1)%n] = net.Pipe()
	}
	next[2].Close()
	prev[2].Close()
	errs := make([]error, n)
	var wg sync.WaitGroup
	for rank := range n {
		if rank != 2 {
			wg.Go(func() {
				_, errs[rank] = bootstrap.AllGather(rank, n, prev[rank], next[rank], []byte("x"))
			})
		}
	}
	wg.Wait()
	for rank, err := range errs {
		require.Equal(t, rank != 2, err != nil, "rank %d: %v", rank, err)
	}
}

func TestJoinNamesTheMissing(t *testing.T) {
	root, id, err := bootstrap.Listen(loopback)
	require.NoError(t, err)
	defer root.Close()
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	errs := make([]error, 4)
	var wg sync.WaitGroup
	for _, rank := range []int{0, 2} {
		wg.Go(func() {
			_, errs[rank] = bootstrap.Join(ctx, bootstrap.Config{ID: id, Rank: rank, Size: 4, Addr: loopback})
		})
	}
	require.Eventually(t, func() bool { return root.Seated() == 2 }, 10*time.Second, time.Millisecond)
	cancel(cause)
	wg.Wait()
	for _, rank := range []int{0, 2} {
		require.ErrorIs(t, errs[rank], cause)
		require.ErrorContains(t, errs[rank], "waiting for ranks 1, 3")
	}
}

func TestRootRefuses(t *testing.T) {
	for _, tt := range []struct {
		name       string
		rank, size int
		want       string
	}{
		{"another size", 1, 3, "rank 1 says that there are 3 ranks, others said 2"},
		{"a rank twice", 0, 2, "rank 0 has come twice"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root, id, err := bootstrap.Listen(loopback)
			require.NoError(t, err)
			defer root.Close()
			ctx, cancel := context.WithCancel(t.Context())
			var wg sync.WaitGroup
			defer wg.Wait()
			defer cancel()
			wg.Go(func() {
				bootstrap.Join(ctx, bootstrap.Config{ID: id, Rank: 0, Size: 2, Addr: loopback})
			})
			require.Eventually(t, func() bool { return root.Seated() == 1 }, 10*time.Second, time.Millisecond)
			_, err = bootstrap.Join(ctx, bootstrap.Config{ID: id, Rank: tt.rank, Size: tt.size, Addr: loopback})
			require.ErrorContains(t, err, tt.want)
		})
	}
}

func TestOtherIDIsRefused(t *testing.T) {
	root, id, err := bootstrap.Listen(loopback)
	require.NoError(t, err)
	defer root.Close()
	id[20]++ // a bit of the secret
	_, err = bootstrap.Join(t.Context(), bootstrap.Config{ID: id, Rank: 0, Size: 2, Addr: loopback})
	require.Error(t, err)
	require.Zero(t, root.Seated())
}

func TestGarbageIsNoID(t *testing.T) {
	_, err := bootstrap.Join(t.Context(), bootstrap.Config{Rank: 0, Size: 2, Addr: loopback})
	require.ErrorContains(t, err, "not a unique ID")
}
