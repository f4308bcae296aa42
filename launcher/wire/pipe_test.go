package wire

import (
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// sockets returns two connected ones.
func sockets(t *testing.T) (ours, theirs *net.UnixConn) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	require.NoError(t, err)
	conns := make([]*net.UnixConn, 2)
	for i, fd := range fds {
		f := os.NewFile(uintptr(fd), "socket")
		c, err := net.FileConn(f)
		require.NoError(t, err)
		f.Close()
		t.Cleanup(func() { c.Close() })
		conns[i] = c.(*net.UnixConn)
	}
	return conns[0], conns[1]
}

func TestPipesAreHandedOver(t *testing.T) {
	launcher, agent := sockets(t)
	raw, err := agent.SyscallConn()
	require.NoError(t, err)
	text := strings.Repeat("x", 100_000)
	for rank := range 3 {
		r, w, err := os.Pipe()
		require.NoError(t, err)
		fd := int(r.Fd())
		require.NoError(t, syscall.SetNonblock(fd, true))
		require.NoError(t, SendPipe(raw, rank, Stderr, fd))
		r.Close()
		go func() {
			io.WriteString(w, text)
			w.Close()
		}()
	}
	require.NoError(t, agent.CloseWrite())
	for rank := range 3 {
		got, stream, pipe, err := ReceivePipe(launcher)
		require.NoError(t, err)
		require.Equal(t, rank, got)
		require.Equal(t, Stderr, stream)
		raw, err := pipe.SyscallConn()
		require.NoError(t, err)
		total := 0
		for {
			chunk, n := ReadChunk(raw)
			if n == 0 {
				break
			}
			now := time.Now()
			o := chunk.Output(rank, stream, now, n)
			require.Equal(t, text[total:total+n], string(o.Data))
			require.Equal(t, now, o.Time)
			total += n
			o.Release()
		}
		require.Equal(t, len(text), total)
		pipe.Close()
	}
	_, _, _, err = ReceivePipe(launcher)
	require.ErrorIs(t, err, io.EOF)
}

func TestAPipeThatCannotBeSentIsStillThere(t *testing.T) {
	launcher, agent := sockets(t)
	raw, err := agent.SyscallConn()
	require.NoError(t, err)
	launcher.Close()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	defer w.Close()
	require.ErrorIs(t, SendPipe(raw, 0, Stdout, int(r.Fd())), syscall.EPIPE)
	io.WriteString(w, "x")
	_, err = r.Read(make([]byte, 1))
	require.NoError(t, err)
}

func TestWhatIsNoPipeIsRefused(t *testing.T) {
	for name, message := range map[string]string{
		"no descriptor": "\x00\x00\x00\x00\x01",
		"cut off":       "\x00\x00",
	} {
		t.Run(name, func(t *testing.T) {
			launcher, agent := sockets(t)
			io.WriteString(agent, message)
			_, _, _, err := ReceivePipe(launcher)
			require.ErrorContains(t, err, "expected a pipe")
		})
	}
}
