package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/hostfiles"
	"github.com/gorun/gorun/internal/testhost/sshserver"
)

func dialerFor(t testing.TB, h sshserver.Host, conf SSH) *Dialer {
	t.Helper()
	conf.Config = h.Config
	d, err := NewDialer(conf)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return d
}

// dial logs in and out; the error is Dial's.
func dial(t testing.TB, h sshserver.Host, conf SSH) error {
	t.Helper()
	c, err := dialerFor(t, h, conf).Dial(t.Context(), h.Entry())
	if err == nil {
		require.NoError(t, c.Close())
	}
	return err
}

func requireStep(t testing.TB, err error, step Step) {
	t.Helper()
	var at *Error
	require.ErrorAs(t, err, &at)
	require.Equal(t, step, at.Step, "%v", err)
	require.Equal(t, "127.0.0.1", at.Host)
	requireSaidOnce(t, err)
}

// requireSaidOnce requires that no cause stands in an error twice.
func requireSaidOnce(t testing.TB, err error) {
	t.Helper()
	said := map[string]bool{}
	parts := strings.NewReplacer(": ", "\n", "; ", "\n", " (", "\n", ")", "\n").Replace(err.Error())
	for part := range strings.Lines(parts) {
		if part = strings.TrimSpace(part); part != "" {
			require.False(t, said[part], "%q is said twice: %v", part, err)
			said[part] = true
		}
	}
}

func TestALoginThatFailsSaysEachCauseOnce(t *testing.T) {
	t.Parallel()
	s := sshserver.Start(t, sshserver.Config{Faults: sshserver.Faults{Silent: true}})
	over := errors.New("no answer within --start-timeout")
	for name, c := range map[string]struct {
		host   hostfiles.Host
		config string
	}{
		"a silent server":              {s.Entry(), ""},
		"a silent server, by ssh -G":   {s.Entry(), "Match exec \"sleep 2\"\n Port 1"},
		"ConnectTimeout":               {s.Entry(), "ConnectTimeout 1"},
		"a name that does not resolve": {hostfiles.Host{Name: "no-such-host.invalid"}, ""},
		"a command that fails":         {s.Entry(), "ProxyCommand echo no way; exit 3"},
		"a silent jump host":           {hostfiles.Host{Name: "w1", Jump: fmt.Sprintf("%s@%s", s.User, s.Addr)}, ""},
		"a keyword that is none":       {s.Entry(), "Frob yes"},
		"a value that is none":         {s.Entry(), "ConnectTimeout soon"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // most wait for the end of the context
			d, err := NewDialer(SSH{Config: s.Config, Key: s.Key})
			require.NoError(t, err)
			defer d.Close()
			if c.config != "" {
				more, err := parseConfig("config", []byte(c.config+"\n"))
				require.NoError(t, err)
				d.files = append([][]directive{more}, d.files...)
			}
			ctx, cancel := context.WithTimeoutCause(t.Context(), 1500*time.Millisecond, over)
			defer cancel()
			_, err = d.Dial(ctx, c.host)
			require.Error(t, err)
			requireSaidOnce(t, err)
		})
	}
}

// configure adds lines before the server's ssh_config.
func configure(t testing.TB, h sshserver.Host, lines string) {
	t.Helper()
	old, err := os.ReadFile(h.Config)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(h.Config, append([]byte(lines+"\n"), old...), 0o600))
}

func TestDialKnowsItsAddresses(t *testing.T) {
	s := sshserver.Start(t, sshserver.Config{Addr: netip.MustParseAddr("127.0.0.2"), Banner: "Welcome\n"})
	c, err := dialerFor(t, s.Host, SSH{}).Dial(t.Context(), s.Entry())
	require.NoError(t, err)
	defer c.Close()
	require.Equal(t, s.Addr, c.RemoteAddr())
	require.True(t, c.LocalAddr().Addr().IsLoopback())
	require.Equal(t, "127.0.0.2", c.Host())
	require.Equal(t, 1, s.Logins())
	require.NoError(t, c.Close())
	require.NoError(t, c.Close(), "again")
}

func TestDroppedLoginsAreRepeated(t *testing.T) {
	s := sshserver.Start(t, sshserver.Config{Faults: sshserver.Faults{Drop: 3}})
	require.NoError(t, dial(t, s.Host, SSH{}))
	require.Equal(t, 4, s.Connections())
}

// A server that lets few in at a time serves many entries of the list.
func TestMaxStartups(t *testing.T) {
	s := sshserver.Start(t, sshserver.Config{Faults: sshserver.Faults{MaxStartups: 3}})
	d := dialerFor(t, s.Host, SSH{})
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() {
			c, err := d.Dial(t.Context(), s.Entry())
			if err != nil {
				t.Error(err)
				return
			}
			c.Close()
		})
	}
	wg.Wait()
	require.Equal(t, 32, s.Logins())
}

func TestDialEndsWithItsContext(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		faults sshserver.Faults
		want   string
	}{
		{"silent", sshserver.Faults{Silent: true}, "accepted the connection and sent nothing"},
		{"slow login", sshserver.Faults{LoginDelay: time.Second}, "did not finish the authentication"},
		{"always dropped", sshserver.Faults{Drop: 1000}, "hung up before authentication"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := sshserver.Start(t, sshserver.Config{Faults: tt.faults})
			cause := errors.New("--start-timeout is over")
			ctx, cancel := context.WithTimeoutCause(t.Context(), 300*time.Millisecond, cause)
			defer cancel()
			_, err := dialerFor(t, s.Host, SSH{}).Dial(ctx, s.Entry())
			requireStep(t, err, StepLogin)
			require.ErrorIs(t, err, cause)
			require.ErrorContains(t, err, tt.want)
		})
	}
}

func TestConnectTimeout(t *testing.T) {
	t.Parallel()
	s := sshserver.Start(t, sshserver.Config{Faults: sshserver.Faults{Silent: true}})
	configure(t, s.Host, "ConnectTimeout 1")
	err := dial(t, s.Host, SSH{})
	requireStep(t, err, StepLogin)
	require.ErrorContains(t, err, "no answer within ConnectTimeout 1s")
}

// ConnectTimeout ends with the key exchange: authentication may take longer.
func TestConnectTimeoutIsNotForAuthentication(t *testing.T) {
	t.Parallel()
	s := sshserver.Start(t, sshserver.Config{Faults: sshserver.Faults{LoginDelay: 1500 * time.Millisecond}})
	configure(t, s.Host, "ConnectTimeout 1")
	require.NoError(t, dial(t, s.Host, SSH{}))
}

func TestServerThatIsNotSSH(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			io.WriteString(c, "Not allowed at this time\r\n")
			c.Close()
		}
	}()
	s := sshserver.Start(t, sshserver.Config{}) // for its files
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err = dialerFor(t, s.Host, SSH{}).Dial(ctx, hostfiles.Host{Name: "127.0.0.1", Port: l.Addr().(*net.TCPAddr).Port})
	requireStep(t, err, StepLogin)
	require.ErrorContains(t, err, `hung up, saying "Not allowed at this time"`)
}

func TestRefusedConnection(t *testing.T) {
	t.Parallel()
	s := sshserver.Start(t, sshserver.Config{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	port := l.Addr().(*net.TCPAddr).Port
	require.NoError(t, l.Close())
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err = dialerFor(t, s.Host, SSH{}).Dial(ctx, hostfiles.Host{Name: "127.0.0.1", Port: port})
	requireStep(t, err, StepDial)
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
}

func TestNamesThatDoNotResolveAreRepeated(t *testing.T) {
	t.Parallel()
	s := sshserver.Start(t, sshserver.Config{})
	var log bytes.Buffer
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := dialerFor(t, s.Host, SSH{Log: slog.New(slog.NewTextHandler(&log, nil))}).Dial(ctx, hostfiles.Host{Name: "no-such-host.invalid"})
	var at *Error
	require.ErrorAs(t, err, &at)
	require.Equal(t, StepDial, at.Step)
	require.ErrorContains(t, err, "no-such-host.invalid")
	require.Contains(t, log.String(), "login is tried again")
}

func TestBadKnownHostsFile(t *testing.T) {
	s := sshserver.Start(t, sshserver.Config{})
	require.NoError(t, os.WriteFile(s.KnownHosts, []byte("this is nonsense\n"), 0o600))
	err := dial(t, s.Host, SSH{})
	requireStep(t, err, StepLogin)
	require.ErrorContains(t, err, s.KnownHosts)
}
