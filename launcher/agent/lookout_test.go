//go:build linux

package agent

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// seen is a call of a lookout's.
type seen struct {
	name             string
	readable, hungUp bool
}

// watchPipe makes a pipe whose reading end l watches. The call closes it.
func watchPipe(t *testing.T, l *lookout, name string, calls chan<- seen) (w int) {
	r, w, err := newPipe()
	require.NoError(t, err)
	require.NoError(t, l.add(r, func(fd int, readable, hungUp bool) {
		unix.Close(fd)
		calls <- seen{name, readable, hungUp}
	}))
	return w
}

func TestLookoutTellsOutputFromItsEnd(t *testing.T) {
	l, err := newLookout()
	require.NoError(t, err)
	defer l.close()
	calls := make(chan seen, 4)
	silent, loud := watchPipe(t, l, "silent", calls), watchPipe(t, l, "loud", calls)
	_, err = unix.Write(loud, []byte("x"))
	require.NoError(t, err)
	require.Equal(t, seen{"loud", true, false}, <-calls)
	unix.Close(silent)
	require.Equal(t, seen{"silent", false, true}, <-calls)
	unix.Close(loud)
	both := watchPipe(t, l, "ended with output", calls) // under a number that was watched before
	_, err = unix.Write(both, []byte("x"))
	require.NoError(t, err)
	unix.Close(both)
	require.True(t, (<-calls).readable)
	require.Empty(t, calls, "one call for each")
}

func TestLookoutLetsGoOfAPipeThatIsOpenElsewhere(t *testing.T) {
	l, err := newLookout()
	require.NoError(t, err)
	calls := make(chan seen, 4)
	w := watchPipe(t, l, "handed over", calls)
	defer unix.Close(w)
	l.mu.Lock()
	elsewhere, err := unix.FcntlInt(uintptr(l.all[l.last].fd), unix.F_DUPFD_CLOEXEC, 0)
	l.mu.Unlock()
	require.NoError(t, err)
	defer unix.Close(elsewhere)
	_, err = unix.Write(w, []byte("x"))
	require.NoError(t, err)
	<-calls
	n, err := unix.EpollWait(l.fd, make([]unix.EpollEvent, 1), 0)
	require.NoError(t, err)
	require.Zero(t, n)
	l.close()
}

func TestLookoutCallsForAllWhenItEnds(t *testing.T) {
	l, err := newLookout()
	require.NoError(t, err)
	calls := make(chan seen, 4)
	defer unix.Close(watchPipe(t, l, "a", calls))
	defer unix.Close(watchPipe(t, l, "b", calls))
	l.close()
	require.Len(t, calls, 2)
	require.Equal(t, []bool{false, true}, []bool{(<-calls).readable, (<-calls).hungUp})
	require.ErrorIs(t, l.add(0, nil), os.ErrClosed)
}
