package control_test

import (
	"fmt"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/gorun/gorun/nccl/internal/core"
	"github.com/gorun/gorun/nccl/internal/host/control"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// member is a rank of a communicator without an engine.
type member struct {
	entered uint64
	failed  chan struct{}

	mu      sync.Mutex
	failure error
	control control.Control
}

func (m *member) Fail(failure error, spread bool) {
	m.mu.Lock()
	first := m.failure == nil
	if first {
		m.failure = failure
		close(m.failed)
	}
	m.mu.Unlock()
	if first && spread {
		m.control.Spread(failure)
	}
}

func (m *member) Entered() uint64 { return m.entered }

// world is n ranks with the connections between them: next[i] and prev[i+1] are two ends.
type world struct {
	members    []*member
	next, prev []net.Conn
}

// start returns n ranks, those of which that are not in dead run.
func start(t *testing.T, n int, dead ...int) *world {
	w := &world{next: make([]net.Conn, n), prev: make([]net.Conn, n)}
	for i := range n {
		w.next[i], w.prev[(i+1)%n] = pair(t)
		w.members = append(w.members, &member{failed: make(chan struct{}), entered: 7})
	}
	isDead := make(map[int]bool)
	for _, i := range dead {
		isDead[i] = true
	}
	for i, m := range w.members {
		if isDead[i] {
			t.Cleanup(func() { w.kill(i) })
			continue
		}
		ring := control.NewRing(i, n, w.prev[i], w.next[i], m)
		m.control = ring
		ring.Start()
		t.Cleanup(ring.Close)
	}
	return w
}

// kill ends a rank without a word.
func (w *world) kill(rank int) {
	w.next[rank].Close()
	w.prev[rank].Close()
}

func pair(t *testing.T) (net.Conn, net.Conn) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	a, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	b, err := l.Accept()
	require.NoError(t, err)
	return a, b
}

func TestEveryFailureReachesEveryRank(t *testing.T) {
	for name, failure := range map[string]error{
		"lost":    &core.LostError{Ranks: []int{1, 3}},
		"aborted": &core.AbortedError{Rank: 2, Reason: "no more data"},
		"stalled": &core.StallError{Op: "AllReduce", Seq: 1 << 40, Missing: []int{0}},
	} {
		for _, n := range []int{2, 3, 5} {
			t.Run(fmt.Sprint(name, " among ", n), func(t *testing.T) {
				if n < 4 && name == "lost" {
					failure = &core.LostError{Ranks: []int{1}}
				}
				if e, ok := failure.(*core.AbortedError); ok && n == 2 {
					failure = &core.AbortedError{Rank: 1, Reason: e.Reason}
				}
				w := start(t, n)
				w.members[1].Fail(failure, true)
				for _, m := range w.members {
					<-m.failed
					require.Equal(t, failure, m.failure)
				}
			})
		}
	}
}

func TestADeadRankIsLostEverywhere(t *testing.T) {
	for _, n := range []int{2, 3, 6} {
		w := start(t, n, n-1)
		w.kill(n - 1)
		for _, m := range w.members[:n-1] {
			<-m.failed
			require.Equal(t, &core.LostError{Ranks: []int{n - 1}}, m.failure)
		}
	}
}

func TestWhoLeavesIsNotLost(t *testing.T) {
	w := start(t, 3)
	w.members[0].control.Leave()
	w.members[0].control.Close()
	// What rank 1 says still gets to rank 2, the way that is left.
	w.members[1].Fail(&core.AbortedError{Rank: 1}, true)
	<-w.members[2].failed
	require.Equal(t, &core.AbortedError{Rank: 1}, w.members[2].failure)
}

func TestBehindNamesWhoHasNotEntered(t *testing.T) {
	w := start(t, 5)
	w.members[3].entered = 6
	require.Equal(t, []int{3}, w.members[0].control.Behind(7))
	require.Empty(t, w.members[0].control.Behind(6))
}

func TestBehindNamesWhoDoesNotAnswer(t *testing.T) {
	w := start(t, 4, 2) // its connections are open, and nobody is there
	require.Equal(t, []int{2}, w.members[0].control.Behind(7))
}

func TestGarbageIsALoss(t *testing.T) {
	w := start(t, 2, 1)
	_, err := w.next[1].Write([]byte("this is no frame of any kind at all"))
	require.NoError(t, err)
	<-w.members[0].failed
	require.Equal(t, &core.LostError{Ranks: []int{1}}, w.members[0].failure)
}

// What was said before Close arrives.
func TestCloseSendsTheRest(t *testing.T) {
	a, b := pair(t)
	c, d := pair(t)
	m := &member{failed: make(chan struct{})}
	ring := control.NewRing(0, 2, a, c, m)
	ring.Start()
	ring.Spread(&core.AbortedError{Rank: 0, Reason: "last words"})
	ring.Close()
	for _, conn := range []net.Conn{b, d} {
		said, err := io.ReadAll(conn)
		require.NoError(t, err)
		require.Contains(t, string(said), "last words")
		conn.Close()
	}
}
