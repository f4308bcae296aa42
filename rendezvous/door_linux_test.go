package rendezvous_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/gorun/gorun/rankenv"
	"github.com/gorun/gorun/rendezvous"
)

// door returns the two ends of a door.
func door(t testing.TB) (l net.Listener, rankEnd *os.File) {
	ours, theirs, err := rendezvous.NewDoor()
	require.NoError(t, err)
	l, err = rendezvous.ListenAtDoor(ours)
	require.NoError(t, err)
	return l, os.NewFile(uintptr(theirs), "door")
}

// newDoor returns the rank's end of a door at which m answers, as a descriptor
// without close-on-exec, as a rank inherits it.
func newDoor(t *testing.T, m rendezvous.Backend) *os.File {
	l, rankEnd := door(t)
	t.Cleanup(func() { rankEnd.Close() })
	serveOn(t, l, m)
	return rankEnd
}

func gorunWorld(rank int) *rankenv.World {
	w := place(rank)
	w.By, w.Socket = rankenv.Gorun, "/nonexistent/job"
	return &w
}

func TestDoor(t *testing.T) {
	m, err := rendezvous.NewMemory(plan)
	require.NoError(t, err)
	t.Setenv("GORUN_SOCKET_FD", fmt.Sprint(newDoor(t, m).Fd()))
	var all errgroup.Group
	for rank := range 4 {
		all.Go(func() error { // each Open gets a connection of its own
			job, err := rendezvous.Open(t.Context(), &rendezvous.Config{World: gorunWorld(rank)})
			if err != nil {
				return err
			}
			defer job.Close()
			return job.Barrier(t.Context(), "b")
		})
	}
	require.NoError(t, all.Wait())
}

func TestDoorEndsWithItsRank(t *testing.T) {
	m, err := rendezvous.NewMemory(plan)
	require.NoError(t, err)
	l, rankEnd := door(t)
	served := make(chan error)
	go func() { served <- rendezvous.Serve(context.Background(), l, m) }()
	require.NoError(t, rankEnd.Close())
	require.NoError(t, <-served)
}

func TestDoorCloseEndsAccept(t *testing.T) {
	l, rankEnd := door(t)
	defer rankEnd.Close()
	accepted := make(chan error)
	go func() { _, err := l.Accept(); accepted <- err }()
	require.NoError(t, l.Close())
	require.ErrorIs(t, <-accepted, net.ErrClosed)
}

// A descriptor number that something between agent and rank has reused, and one
// that is closed: the path serves.
func TestDescriptorThatIsNoDoor(t *testing.T) {
	m, err := rendezvous.NewMemory(plan)
	require.NoError(t, err)
	path := serve(t, m)
	file, err := os.Open(os.DevNull)
	require.NoError(t, err)
	defer file.Close()
	for _, fd := range []string{"", "x", "-1", "1000000", fmt.Sprint(file.Fd())} {
		t.Setenv("GORUN_SOCKET_FD", fd)
		w := gorunWorld(0)
		w.Socket = path
		job, err := rendezvous.Open(t.Context(), &rendezvous.Config{World: w})
		require.NoError(t, err, "descriptor %q", fd)
		require.NoError(t, job.Close())
	}
	_, err = rendezvous.Open(t.Context(), &rendezvous.Config{World: gorunWorld(0)})
	require.ErrorContains(t, err, "/nonexistent/job")
}

// A process that asks for a connection and dies leaves it to the next one.
func TestDoorPassesOverAbandonedConnection(t *testing.T) {
	m, err := rendezvous.NewMemory(plan)
	require.NoError(t, err)
	end := newDoor(t, m)
	_, err = end.Write([]byte("k"))
	require.NoError(t, err)
	t.Setenv("GORUN_SOCKET_FD", fmt.Sprint(end.Fd()))
	job, err := rendezvous.Open(t.Context(), &rendezvous.Config{World: gorunWorld(0)})
	require.NoError(t, err)
	require.NoError(t, job.Put(t.Context(), "k", nil))
	require.NoError(t, job.Close())
}

// What programs that the rank starts see: the descriptor reaches Open through a
// shell, and is not handed on after Open.
func TestDoorIsInheritedUntilOpen(t *testing.T) {
	if os.Getenv("RENDEZVOUS_TEST_RANK") != "" {
		job, err := rendezvous.Open(t.Context(), &rendezvous.Config{World: gorunWorld(0)})
		require.NoError(t, err)
		defer job.Close()
		require.NoError(t, job.Put(t.Context(), "from below", nil))
		out, err := exec.Command("/bin/sh", "-c", "test -e /proc/self/fd/$GORUN_SOCKET_FD || echo closed").Output()
		require.NoError(t, err)
		require.NoError(t, job.Put(t.Context(), "grandchild", out))
		return
	}
	m, err := rendezvous.NewMemory(plan)
	require.NoError(t, err)
	end := newDoor(t, m)
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command("/bin/sh", "-c", `"$0" "$@"`, exe, "-test.run=^TestDoorIsInheritedUntilOpen$")
	cmd.ExtraFiles = []*os.File{end}
	cmd.Env = append(os.Environ(), "RENDEZVOUS_TEST_RANK=0", "GORUN_SOCKET_FD=3")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	v, err := m.Get(t.Context(), 0, "grandchild")
	require.NoError(t, err)
	require.Equal(t, "closed", strings.TrimSpace(string(v)))
}

func BenchmarkNewDoor(b *testing.B) {
	for b.Loop() {
		l, end := door(b)
		l.Close()
		end.Close()
	}
}
