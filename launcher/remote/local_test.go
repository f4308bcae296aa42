package remote

import (
	"bytes"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/hostfiles"
)

func startLocal(t testing.TB, stderr io.Writer, command ...string) *Local {
	t.Helper()
	l, err := StartLocal(command, stderr)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, l.Kill())
		require.NoError(t, l.Close())
		l.Wait()
	})
	return l
}

func TestLocalEchoes(t *testing.T) {
	var stderr bytes.Buffer
	l := startLocal(t, &stderr, "/bin/sh", "-c", "echo warn >&2; cat")
	_, err := io.WriteString(l, "there and back")
	require.NoError(t, err)
	require.NoError(t, l.CloseWrite())
	out, err := io.ReadAll(l)
	require.NoError(t, err)
	require.Equal(t, "there and back", string(out))
	require.NoError(t, l.Wait())
	require.Equal(t, "warn\n", stderr.String())
}

func TestLocalTellsHowItEnded(t *testing.T) {
	tests := []struct {
		command string
		want    error
	}{
		{"exit 0", nil},
		{"exit 7", &ExitError{Status: 7}},
		{"kill -TERM $$", &ExitError{Status: 143, Signal: "TERM"}},
		{"kill -KILL $$", &ExitError{Status: 137, Signal: "KILL"}},
	}
	for _, tt := range tests {
		t.Run(tt.command, func(t *testing.T) {
			l := startLocal(t, nil, "/bin/sh", "-c", tt.command)
			require.Equal(t, tt.want, l.Wait())
			require.Equal(t, tt.want, l.Wait(), "the second time")
		})
	}
}

func TestLocalHasASessionOfItsOwn(t *testing.T) {
	l := startLocal(t, nil, "/bin/sh", "-c", "ps -o sid= -p $$ || cut -d' ' -f6 /proc/$$/stat")
	out, err := io.ReadAll(l)
	require.NoError(t, err)
	sid, err := strconv.Atoi(strings.TrimSpace(string(out)))
	require.NoError(t, err)
	require.Equal(t, l.Pid(), sid)
}

func TestLocalMayEndBeforeItsInput(t *testing.T) {
	l := startLocal(t, nil, "/bin/true")
	require.NoError(t, l.Wait())
	_, err := l.Write([]byte("too late"))
	require.ErrorIs(t, err, syscall.EPIPE)
}

func TestLocalCloseEndsReads(t *testing.T) {
	l := startLocal(t, nil, "/bin/cat")
	read := make(chan error)
	go func() {
		_, err := l.Read(make([]byte, 1))
		read <- err
	}()
	require.NoError(t, l.Close())
	require.ErrorIs(t, <-read, os.ErrClosed)
	require.NoError(t, l.Wait(), "cat sees the end of its input")
	require.NoError(t, l.Close(), "again")
}

// A descendant that keeps standard error open does not keep Wait.
func TestLocalWaitLeavesDescendants(t *testing.T) {
	t.Parallel()
	var stderr bytes.Buffer
	l := startLocal(t, &stderr, "/bin/sh", "-c", "sleep 1000 </dev/null >/dev/null & echo $!")
	out, err := io.ReadAll(l)
	require.NoError(t, err)
	sleeper, err := strconv.Atoi(strings.TrimSpace(string(out)))
	require.NoError(t, err)
	defer syscall.Kill(sleeper, syscall.SIGKILL)
	require.NoError(t, l.Wait())
}

func TestStartLocalNamesWhatIsMissing(t *testing.T) {
	_, err := StartLocal([]string{"/nonexistent/agent"}, nil)
	require.ErrorContains(t, err, "/nonexistent/agent")
	_, err = StartLocal(nil, nil)
	require.Error(t, err)
}

func TestIsLocal(t *testing.T) {
	tests := []struct {
		name string
		host hostfiles.Host
		want bool
	}{
		{"localhost", hostfiles.Host{Name: "localhost"}, true},
		{"upper case", hostfiles.Host{Name: "LocalHost"}, true},
		{"IPv4", hostfiles.Host{Name: "127.0.0.1"}, true},
		{"IPv6", hostfiles.Host{Name: "::1"}, true},
		{"our full name", hostfiles.Host{Name: "Node1.example.com"}, true},
		{"our short name", hostfiles.Host{Name: "node1"}, true},
		{"another loopback address", hostfiles.Host{Name: "127.0.0.2"}, false},
		{"another host", hostfiles.Host{Name: "node2"}, false},
		{"our first label elsewhere", hostfiles.Host{Name: "node1.example.org"}, false},
		{"a port", hostfiles.Host{Name: "localhost", Port: 22}, false},
		{"a user", hostfiles.Host{Name: "localhost", User: "a"}, false},
		{"a key", hostfiles.Host{Name: "localhost", Key: "k"}, false},
		{"a jump host", hostfiles.Host{Name: "localhost", Jump: "j"}, false},
		{"no name", hostfiles.Host{}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, tt.want, isLocal(tt.host, "node1.example.com"))
		})
	}
}

func BenchmarkStartLocal(b *testing.B) {
	for b.Loop() {
		l, err := StartLocal([]string{"/bin/true"}, nil)
		require.NoError(b, err)
		require.NoError(b, l.Close())
		require.NoError(b, l.Wait())
	}
}

// BenchmarkLocalThroughput is the output of one process, as an agent sends it.
func BenchmarkLocalThroughput(b *testing.B) {
	l, err := StartLocal([]string{"/bin/sh", "-c", "exec cat /dev/zero"}, nil)
	require.NoError(b, err)
	defer l.Wait()
	defer l.Close()
	buf := make([]byte, 32<<10)
	b.SetBytes(int64(len(buf)))
	for b.Loop() {
		_, err := io.ReadFull(l, buf)
		require.NoError(b, err)
	}
}
