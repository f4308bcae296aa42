package remote

import (
	"bytes"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/hostfiles"
	"github.com/gorun/gorun/internal/testhost/sshserver"
)

// startMaster runs ssh as a master connection to a server, for the time of the
// test. Its socket is the one file that comes into a folder.
func startMaster(t testing.TB, h sshserver.Host, dir string) {
	t.Helper()
	cmd := exec.Command(lookPath(t, "ssh"), "-F", h.Config, "-M", "-N", h.Addr.Addr().String())
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	require.Eventually(t, func() bool {
		sockets, err := filepath.Glob(dir + "/*[0-9a-f]") // ssh links it when it is ready
		return err == nil && len(sockets) == 1
	}, waitFor, poll)
}

func TestMasterConnection(t *testing.T) {
	for _, server := range servers {
		t.Run(server.name, func(t *testing.T) {
			dir, err := os.MkdirTemp("", "master") // sockets have short names
			require.NoError(t, err)
			defer os.RemoveAll(dir)
			h := server.start(t, sshserver.Config{})
			configure(t, h, "ControlPath "+dir+"/%r-%C\nControlMaster auto")
			startMaster(t, h, dir)
			// Nothing but the master can log in any more.
			require.NoError(t, os.Remove(h.Key))
			d := configDialer(t, h.Config, SSH{})
			p := newFakeAgent(t)
			host := hostfiles.Host{Name: h.Addr.Addr().String()}
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() {
					c, err := d.Dial(t.Context(), host)
					if err != nil {
						t.Error(err)
						return
					}
					var stderr bytes.Buffer
					s, err := c.StartAgent(t.Context(), p, Start{Args: []string{"a"}, Stderr: &stderr})
					if err != nil {
						t.Error(err)
						return
					}
					if c.RemoteAddr() != h.Addr {
						t.Errorf("reached at %v, expected %v", c.RemoteAddr(), h.Addr)
					}
					if got := finish(t, s); got != "<a>" || stderr.String() != "oops\n" {
						t.Errorf("agent said %q and %q", got, stderr.String())
					}
				})
			}
			wg.Wait()
			c, err := d.Dial(t.Context(), host)
			require.NoError(t, err)
			s, err := c.StartAgent(t.Context(), newProgram(t, "exit 7"), Start{})
			require.NoError(t, err)
			_, err = io.ReadAll(s)
			require.NoError(t, err)
			require.Equal(t, &ExitError{Status: 7}, s.Wait())
			require.NoError(t, s.Close())
		})
	}
}

func TestMasterConnectionsThatAreNotUsed(t *testing.T) {
	listen := func(t *testing.T, path string) net.Listener {
		l, err := net.Listen("unix", path)
		require.NoError(t, err)
		t.Cleanup(func() { l.Close() })
		return l
	}
	for name, tt := range map[string]struct {
		config string
		make   func(t *testing.T, path string)
	}{
		"none there": {"ControlPath %s", func(*testing.T, string) {}},
		"left by one that died": {"ControlPath %s", func(t *testing.T, path string) {
			l := listen(t, path)
			l.(*net.UnixListener).SetUnlinkOnClose(false)
			require.NoError(t, l.Close())
		}},
		"of another program": {"ControlPath %s", func(t *testing.T, path string) {
			l := listen(t, path)
			go func() {
				if c, err := l.Accept(); err == nil {
					io.WriteString(c, "hello, who are you?\n")
					c.Close()
				}
			}()
		}},
		"hanging":             {"ControlPath %s", func(t *testing.T, path string) { listen(t, path) }},
		"a new one is wanted": {"ControlMaster yes\nControlPath %s", func(t *testing.T, path string) { listen(t, path) }},
		"ruled out":           {"ControlPath none\nControlPath %s", func(t *testing.T, path string) { listen(t, path) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "s")
			s := sshserver.Start(t, sshserver.Config{})
			configure(t, s.Host, string(bytes.ReplaceAll([]byte(tt.config), []byte("%s"), []byte(path))))
			tt.make(t, path)
			require.NoError(t, dial(t, s.Host, SSH{}))
			require.Equal(t, 1, s.Logins())
		})
	}
}
