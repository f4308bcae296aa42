package remote

import (
	"io"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"time"
)

// tunnel is a process of this host whose standard streams lead to another: a
// ProxyCommand, or a program that logs in there. It ends with the connection.
//
// It keeps the terminal, since it may have to ask its user something, and so it
// is in our process group. What the terminal's keys and its end mean is for the
// launcher to say: a tunnel that died of them would cut off an agent that is
// just ending its ranks. So these signals are ignored there, as every program
// ignores them that was started so.
type tunnel struct {
	*Local
	ended chan struct{}
	close func() error
}

// shielded runs the words after it with the terminal's signals ignored.
var shielded = []string{"/bin/sh", "-c", `trap "" HUP INT QUIT TSTP; exec "$@"`, "sh"}

// Most tunnels end when their streams do. The others are told to after the first
// of these times, and made to after both.
const (
	tunnelPatience = 100 * time.Millisecond
	tunnelGrace    = time.Second
)

// startTunnel starts command, looking for its first word in PATH. The caller
// closes the tunnel, which waits for the process.
func startTunnel(command []string, stderr io.Writer) (*tunnel, error) {
	l, err := startProcess(&exec.Cmd{Path: shielded[0], Args: slices.Concat(shielded, command), Stderr: stderr})
	if err != nil {
		return nil, err
	}
	t := &tunnel{Local: l, ended: make(chan struct{})}
	go func() {
		l.Wait()
		close(t.ended)
	}()
	t.close = sync.OnceValue(t.end)
	return t, nil
}

// Close ends the process. It may be repeated.
func (t *tunnel) Close() error { return t.close() }

func (t *tunnel) end() error {
	err := t.Local.Close()
	// It may be gone when these come, which is as well.
	defer time.AfterFunc(tunnelPatience, func() { t.cmd.Process.Signal(syscall.SIGTERM) }).Stop()
	defer time.AfterFunc(tunnelPatience+tunnelGrace, func() { t.Kill() }).Stop()
	<-t.ended
	return err
}
