package remote

import (
	"context"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/hostfiles"
	"github.com/gorun/gorun/internal/testhost/sshserver"
)

// sshConfig writes one ssh_config file that gives servers names, with lines of
// the test before it.
func sshConfig(t testing.TB, lines string, servers map[string]sshserver.Host) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(lines + "\n")
	for name, s := range servers {
		fmt.Fprintf(&b, `Host %s
	HostName %s
	Port %d
	User %s
	IdentityFile %s
	UserKnownHostsFile %s
`, name, s.Addr.Addr(), s.Addr.Port(), s.User, s.Key, s.KnownHosts)
	}
	b.WriteString("Host *\n\tIdentitiesOnly yes\n\tIdentityAgent none\n\tGlobalKnownHostsFile none\n")
	return writeFile(t, "ssh_config", b.String(), 0o600)
}

// away starts a server at another loopback address, so that it is told from
// the others by it.
func away(t testing.TB, last byte, conf sshserver.Config) *sshserver.Server {
	t.Helper()
	conf.Addr = netip.AddrFrom4([4]byte{127, 0, 0, last})
	return sshserver.Start(t, conf)
}

func configDialer(t testing.TB, config string, conf SSH) *Dialer {
	t.Helper()
	conf.Config = config
	d, err := NewDialer(conf)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return d
}

func TestJumpHosts(t *testing.T) {
	bastion, inner, target := away(t, 2, sshserver.Config{}), away(t, 3, sshserver.Config{}), away(t, 4, sshserver.Config{})
	servers := map[string]sshserver.Host{"bastion": bastion.Host, "inner": inner.Host, "w1": target.Host}
	forwards := func() [2]int { return [2]int{bastion.Forwards(), inner.Forwards()} }
	tests := []struct {
		name   string
		config string
		conf   SSH
		host   hostfiles.Host
		want   [2]int // connections made by bastion and inner
	}{
		{"ProxyJump", "Host w1\n ProxyJump bastion", SSH{}, hostfiles.Host{Name: "w1"}, [2]int{1, 0}},
		{"a list of them", "Host w1\n ProxyJump bastion,inner", SSH{}, hostfiles.Host{Name: "w1"}, [2]int{1, 1}},
		{"one that has one itself", "Host w1\n ProxyJump inner\nHost inner\n ProxyJump bastion", SSH{}, hostfiles.Host{Name: "w1"}, [2]int{1, 1}},
		{"-J", "", SSH{Jump: "bastion,inner"}, hostfiles.Host{Name: "w1"}, [2]int{1, 1}},
		{"-J before ProxyJump", "Host w1\n ProxyJump inner", SSH{Jump: "bastion"}, hostfiles.Host{Name: "w1"}, [2]int{1, 0}},
		{"jump= before -J", "", SSH{Jump: "bastion"}, hostfiles.Host{Name: "w1", Jump: "inner"}, [2]int{0, 1}},
		{"jump=none", "Host w1\n ProxyJump inner", SSH{Jump: "bastion"}, hostfiles.Host{Name: "w1", Jump: "none"}, [2]int{0, 0}},
		{"-J none", "Host w1\n ProxyJump inner", SSH{Jump: "none"}, hostfiles.Host{Name: "w1"}, [2]int{0, 0}},
		{"ProxyJump none before another", "Host w1\n ProxyJump none\nHost *\n ProxyJump inner", SSH{}, hostfiles.Host{Name: "w1"}, [2]int{0, 0}},
		{"ProxyJump before ProxyCommand", "Host w1\n ProxyJump bastion\n ProxyCommand false", SSH{}, hostfiles.Host{Name: "w1"}, [2]int{1, 0}},
		{"tokens", "Host w1\n ProxyJump bastion\n HostName 127.0.0.4\nHost 127.0.0.4\n", SSH{}, hostfiles.Host{Name: "w1"}, [2]int{1, 0}},
		{"as a URI with user and port", "", SSH{Jump: fmt.Sprintf("ssh://%s@bastion:%d/", bastion.User, bastion.Addr.Port())}, hostfiles.Host{Name: "w1"}, [2]int{1, 0}},
		// The port that is the target's own is not the jump host's.
		{"-p is the target's", "", SSH{Jump: "bastion", Port: int(target.Addr.Port())}, hostfiles.Host{Name: "w1"}, [2]int{1, 0}},
		{"the entry's port is the target's", "Host w1\n ProxyJump bastion", SSH{}, hostfiles.Host{Name: "w1", Port: int(target.Addr.Port())}, [2]int{1, 0}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before := forwards()
			d := configDialer(t, sshConfig(t, tt.config, servers), tt.conf)
			c, err := d.Dial(t.Context(), tt.host)
			require.NoError(t, err)
			require.NoError(t, c.Close())
			after := forwards()
			require.Equal(t, tt.want, [2]int{after[0] - before[0], after[1] - before[1]})
		})
	}
}

// All hosts behind a jump host share one login there, which outlives none of
// them and is not needed to be made again for one that comes later.
func TestJumpHostIsLoggedInToOnce(t *testing.T) {
	bastion := away(t, 2, sshserver.Config{})
	servers := map[string]sshserver.Host{"bastion": bastion.Host}
	const hosts = 40 // more than may log in at a time
	target := away(t, 3, sshserver.Config{})
	for i := range hosts {
		servers[fmt.Sprintf("w%d", i)] = target.Host
	}
	d := configDialer(t, sshConfig(t, "Host w*\n ProxyJump bastion", servers), SSH{})
	conns := make([]*Conn, hosts)
	var wg sync.WaitGroup
	for i := range conns {
		wg.Go(func() {
			var err error
			if conns[i], err = d.Dial(t.Context(), hostfiles.Host{Name: fmt.Sprintf("w%d", i)}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	require.Equal(t, 1, bastion.Connections())
	require.Equal(t, hosts, target.Logins())
	require.NoError(t, d.Close())

	// Connections outlive the Dialer.
	s, err := conns[0].StartAgent(t.Context(), newFakeAgent(t), Start{Args: []string{"a"}})
	require.NoError(t, err)
	require.Equal(t, "<a>", finish(t, s))
	for _, c := range conns {
		require.NoError(t, c.Close())
	}
}

// A jump host that was restarted is logged in to again.
func TestLostJumpHost(t *testing.T) {
	bastion, target := away(t, 2, sshserver.Config{}), away(t, 3, sshserver.Config{})
	config := sshConfig(t, "Host w1\n ProxyJump bastion", map[string]sshserver.Host{"bastion": bastion.Host, "w1": target.Host})
	d := configDialer(t, config, SSH{})
	w1 := hostfiles.Host{Name: "w1"}
	c, err := d.Dial(t.Context(), w1)
	require.NoError(t, err)
	s, err := c.StartAgent(t.Context(), newProgram(t, "echo up; exec cat"), Start{})
	require.NoError(t, err)
	_, err = io.ReadFull(s, make([]byte, 3))
	require.NoError(t, err)
	bastion.Cut()
	_, err = io.ReadAll(s)
	require.NoError(t, err)
	require.Error(t, s.Wait())
	require.NoError(t, s.Close())

	c, err = d.Dial(t.Context(), w1)
	require.NoError(t, err)
	require.NoError(t, c.Close())
	require.Equal(t, 2, bastion.Logins())
}

// The address of a host behind a jump host is what the host's own server says.
func TestAddressBehindJumpHost(t *testing.T) {
	bastion, target := away(t, 2, sshserver.Config{}), away(t, 3, sshserver.Config{})
	config := sshConfig(t, "Host w1\n ProxyJump bastion", map[string]sshserver.Host{"bastion": bastion.Host, "w1": target.Host})
	c, err := configDialer(t, config, SSH{}).Dial(t.Context(), hostfiles.Host{Name: "w1"})
	require.NoError(t, err)
	require.False(t, c.RemoteAddr().IsValid())
	require.False(t, c.LocalAddr().IsValid())
	s, err := c.StartAgent(t.Context(), newFakeAgent(t), Start{})
	require.NoError(t, err)
	defer s.Close()
	require.Equal(t, target.Addr, c.RemoteAddr())
}

func TestJumpHostsThatFail(t *testing.T) {
	tests := []struct {
		name   string
		config string // before the servers' entries
		break_ func(t *testing.T, bastion, target *sshserver.Server)
		step   Step
		want   string
	}{
		{"nobody lets in", "", func(_ *testing.T, b, _ *sshserver.Server) { b.Set(sshserver.Faults{RejectKeys: true}) },
			StepDial, "w1: dial: jump host bastion: login: user tester was not let in"},
		{"its key is unknown", "", func(t *testing.T, b, _ *sshserver.Server) { require.NoError(t, b.ForgetKnownHosts()) },
			StepDial, "jump host bastion: login: host key SHA256:"},
		{"the key behind it is unknown", "", func(t *testing.T, _, w *sshserver.Server) { require.NoError(t, w.ForgetKnownHosts()) },
			StepLogin, "w1: login: host key SHA256:"},
		{"no forwarding", "", func(_ *testing.T, b, _ *sshserver.Server) { b.Set(sshserver.Faults{RefuseForward: true}) },
			StepDial, "w1: dial: jump host bastion does not forward connections (AllowTcpForwarding, PermitOpen)"},
		{"nobody listens behind it", "", func(t *testing.T, _, w *sshserver.Server) { require.NoError(t, w.Close()) },
			StepDial, "jump host bastion could not connect: dial tcp 127.0.0.3:"},
		{"the way leads through itself", "Host bastion\n ProxyJump w1", nil,
			StepDial, "leads through itself (w1 → bastion → w1); jump=none, or ProxyJump none, reaches it directly"},
		{"no end of it", "Host x*\n ProxyJump x%h\nHost bastion\n ProxyJump x", nil,
			StepDial, "more than 16 jump hosts on the way to w1"},
		{"no name", "Host bastion\n ProxyJump a@:22", nil, StepDial, `expected [user@]host[:port], found "a@:22"`},
		{"no port", "Host bastion\n ProxyJump a:b", nil, StepDial, `expected a port from 1 to 65535, found "b"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			bastion, target := away(t, 2, sshserver.Config{}), away(t, 3, sshserver.Config{})
			config := sshConfig(t, tt.config+"\nHost w1\n ProxyJump bastion", map[string]sshserver.Host{"bastion": bastion.Host, "w1": target.Host})
			if tt.break_ != nil {
				tt.break_(t, bastion, target)
			}
			d := configDialer(t, config, SSH{})
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := d.Dial(ctx, hostfiles.Host{Name: "w1"})
			var at *Error
			require.ErrorAs(t, err, &at)
			require.Equal(t, tt.step, at.Step, "%v", err)
			require.ErrorContains(t, err, tt.want)
			require.NotContains(t, err.Error(), "\n")
			// What a jump host refused is not tried again for the next host.
			before := bastion.Connections()
			_, err = d.Dial(ctx, hostfiles.Host{Name: "w1"})
			require.Error(t, err)
			require.Equal(t, before, bastion.Connections())
		})
	}
}

func TestJumpFlagIsChecked(t *testing.T) {
	for jump, want := range map[string]string{
		"a,":      `expected [user@]host[:port], found ""`,
		"@a":      `expected the name of a user before "@"`,
		"[::1":    `expected "]" after an address in brackets`,
		"[::1]22": `expected ":PORT" or nothing after "]", found "22"`,
		"a:0":     "expected a port from 1 to 65535",
		"-oX=y":   "expected [user@]host[:port]",
	} {
		_, err := NewDialer(SSH{Jump: jump, Config: "none"})
		require.ErrorContains(t, err, "-J "+jump+": ")
		require.ErrorContains(t, err, want)
	}
}

func TestParseJump(t *testing.T) {
	for text, want := range map[string]request{
		"b":              {name: "b"},
		" b:2222":        {name: "b", port: 2222},
		"lee@corp@b":     {name: "b", user: "lee@corp"},
		"ssh://lee@b:1":  {name: "b", user: "lee", port: 1},
		"::1":            {name: "::1"},
		"[fe80::1%lo]:2": {name: "fe80::1%lo", port: 2},
	} {
		got, err := parseJump(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
}

// A login on a jump host that never ends, ends with the Dialer.
func TestSilentJumpHost(t *testing.T) {
	bastion := away(t, 2, sshserver.Config{Faults: sshserver.Faults{Silent: true}})
	config := sshConfig(t, "Host w1\n ProxyJump bastion", map[string]sshserver.Host{"bastion": bastion.Host})
	d := configDialer(t, config, SSH{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for bastion.Connections() == 0 {
			select {
			case <-t.Context().Done():
				return
			default:
			}
		}
		cancel()
	}()
	_, err := d.Dial(ctx, hostfiles.Host{Name: "w1"})
	require.ErrorContains(t, err, "jump host bastion: not logged in yet")
	require.NoError(t, d.Close())
}

func FuzzParseJump(f *testing.F) {
	for _, seed := range []string{"a", "u@a:22", "ssh://[::1]:22/", "[", "a:b:c", "@", ":"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := parseJump(text)
		if err == nil {
			require.NotEmpty(t, r.name)
			require.True(t, r.port >= 0 && r.port <= 65535)
		}
	})
}
