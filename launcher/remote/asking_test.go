package remote

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gorun/gorun/hostfiles"
)

// requireAgreement requires that a configuration means to us what it means to
// ssh, for the directives that we read.
func requireAgreement(t testing.TB, config, host string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "agreement")
	require.NoError(t, err)
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "config")
	require.NoError(t, os.WriteFile(file, []byte(config), 0o600))
	d, err := NewDialer(SSH{Config: file})
	require.NoError(t, err, config)
	defer d.Close()
	r := request{name: host}
	ctx := t.Context()
	asked, err := d.askSSH(ctx, r, "to compare")
	require.NoError(t, err, config)
	want, err := d.settleBy(ctx, asked, r, nil)
	require.NoError(t, err, config)
	ours, err := evaluate(d.files, host, "", d.local)
	require.NoError(t, err, config)
	require.Empty(t, ours.undecided, config)
	got, err := d.settleBy(ctx, ours, r, nil)
	require.NoError(t, err, config)
	require.Equal(t, want.Unsupported != "", got.Unsupported != "", "their texts tell where it stands")
	want.Unsupported, got.Unsupported = "", ""
	for _, s := range []*settings{want, got} {
		for ; s != nil; s = s.Jump {
			s.Cryptography = cryptography{} // ssh tells its defaults too
		}
	}
	require.Equal(t, want, got, "for %s by\n%s", host, config)
}

func TestAgreementWithSSH(t *testing.T) {
	lookPath(t, "ssh")
	for name, config := range map[string]string{
		"nothing": "",
		"all that is read": "HostName 10.0.0.1\nPort 2200\nUser bob\nAddressFamily inet6\nBindAddress 10.0.0.9\nCertificateFile ~/a-cert.pub\nConnectTimeout 7\n" +
			"GlobalKnownHostsFile /g1 /g2\nHashKnownHosts yes\nHostKeyAlias store\nIdentitiesOnly yes\nIdentityAgent /a\nIdentityFile ~/k1\nIdentityFile ~/%h\n" +
			"ProxyCommand nc \"%h\" %p # no comment\nStrictHostKeyChecking accept-new\nUserKnownHostsFile ~/u1 /u2\n",
		"the name connected to": "Host w1\n HostName deep.example.com\nHost deep*\n User late\nMatch host deep*\n Port 2\nMatch originalhost w1\n ConnectTimeout 3\n",
		"a last reading": "Host w1\n HostName deep.example.com\nHost deep*\n User carl\nMatch host w1\n Port 1\nMatch final host deep.*\n Port 2200\n" +
			"Match final originalhost w1\n ConnectTimeout 5\nMatch !final host deep*\n BindAddress 1.2.3.4\nMatch canonical all\n AddressFamily inet6\n" +
			"IdentityFile ~/a\nIdentityFile ~/b\nHost *\n IdentityFile ~/c%h\n IdentityFile ~/a\n",
		"no jump host, but a command":  "ProxyJump none\nProxyJump bastion\nProxyCommand nc %h\n",
		"a jump host of its own":       "Host bastion\n ProxyJump none\nHost w1\n ProxyJump lee@bastion:2222\n",
		"a jump host before a command": "ProxyJump none\nProxyCommand nc %h\n",
		"a command before a jump host": "ProxyCommand nc %h\nProxyJump bastion\n",
		"a command that is none":       "ProxyCommand none\nProxyJump bastion\n",
		"security":                     "StrictHostKeyChecking off\nPKCS11Provider /p.so\nGSSAPIAuthentication yes\nHostbasedAuthentication yes\n",
		"user in two places":           "Match user bob\n Port 3\nHost w1\n User bob\nMatch user bob\n Port 4\n",
		"a default key, named":         "IdentityFile ~/.ssh/id_rsa\n",
		"equals signs and quotes":      "Host=w1\n Port = 22\n  HostName\t=\"a.example\"\nUser 'bob'\n",
		"negation":                     "Host * !w1\n Port 1\nHost w* !w2\n Port 2\n",
		"the first of two known hosts": "UserKnownHostsFile /a\nUserKnownHostsFile /b\n",
		"times":                        "ConnectTimeout 1m30\n",
		"case":                         "Host w1\n Port 77\nMatch host W1\n ConnectTimeout 8\nMatch originalhost w1\n HostKeyAlias x\nHost W1\n HostName Deep.%h\n User Bob\nMatch user bob\n Port 9\n",
		"certificates":                 "CertificateFile /a\nCertificateFile /b\nCertificateFile /a\n",
	} {
		t.Run(name, func(t *testing.T) {
			for _, host := range []string{"w1", "W1", "bastion"} {
				if strings.HasPrefix(config, "ProxyJump bastion") && host == "bastion" {
					continue // a way through itself
				}
				requireAgreement(t, config, host)
			}
		})
	}
}

// The same of configurations that nobody wrote.
func TestAgreementWithSSHOfAny(t *testing.T) {
	lookPath(t, "ssh")
	condition := rapid.SampledFrom([]string{"Host w1", "Host w*", "Host !w1 *", "Host deep", "Match all", "Match host w1", "Match host deep", "Match !host deep",
		"Match originalhost w1", "Match user bob", "Match !user bob", "Match final", "Match final host deep", "Match !final all", "Match canonical"})
	directive := rapid.SampledFrom([]string{"HostName deep", "HostName %h.lan", "User bob", "User carl", "Port 1", "Port 2", "IdentityFile /a", "IdentityFile /b",
		"ProxyJump none", "ProxyCommand none", "ProxyCommand nc %h", "ConnectTimeout 1", "HostKeyAlias x", "CertificateFile /c"})
	block := rapid.Custom(func(t *rapid.T) string {
		return condition.Draw(t, "condition") + "\n " + strings.Join(rapid.SliceOfN(directive, 1, 3).Draw(t, "directives"), "\n ")
	})
	blocks := rapid.SliceOfN(block, 1, 5)
	for seed := range 60 { // each asks ssh, which is a process
		requireAgreement(t, strings.Join(blocks.Example(seed), "\n"), []string{"w1", "W1"}[seed%2])
	}
}

func TestConditionsThatOnlySSHEvaluates(t *testing.T) {
	lookPath(t, "ssh")
	for name, tt := range map[string]struct{ config, host, want string }{
		"Match exec that holds":    {"Match exec \"test %h = w1\"\n Port 2200\n", "w1", "2200"},
		"Match exec that does not": {"Match exec \"test %h = w1\"\n Port 2200\n", "w2", "22"},
		"Match localnetwork":       {"Match exec true\n Port 2300\n", "w1", "2300"},
		"a name made canonical":    {"CanonicalizeHostname yes\nCanonicalDomains example.com\nCanonicalizeFallbackLocal yes\nMatch canonical\n Port 2400\n", "localhost", "2400"},
		"ruled out by another":     {"Match originalhost other exec \"exit 1\"\n Port 1\nHost *\n Port 2500", "w1", "2500"},
		"of nothing that we read":  {"Match exec true\n Compression yes\nHost *\n Port 2600", "w1", "2600"},
	} {
		t.Run(name, func(t *testing.T) {
			d := configDialer(t, writeFile(t, "config", tt.config, 0o600), SSH{})
			s, err := d.resolve(t.Context(), hostfiles.Host{Name: tt.host})
			require.NoError(t, err)
			require.Equal(t, tt.want, fmt.Sprint(s.Port))
			require.False(t, s.Keys[0].explicit, "ssh's defaults are not asked for")
		})
	}
}

func TestConditionsThatCannotBeEvaluated(t *testing.T) {
	const config = "Host a\n Port 1\nMatch exec \"true\"\n Port 2200\n"
	t.Run("no ssh", func(t *testing.T) {
		t.Setenv("PATH", "/nonexistent")
		file := writeFile(t, "config", config, 0o600)
		_, err := configDialer(t, file, SSH{}).Dial(t.Context(), hostfiles.Host{Name: "w1"})
		require.EqualError(t, err, "w1: dial: "+file+":3: Match exec: only OpenSSH's ssh can evaluate that, and there is none in PATH")
	})
	t.Run("ssh refuses the file", func(t *testing.T) {
		lookPath(t, "ssh")
		file := writeFile(t, "config", config+"LogLevel NoSuchLevel\n", 0o600)
		_, err := configDialer(t, file, SSH{}).Dial(t.Context(), hostfiles.Host{Name: "w1"})
		require.ErrorContains(t, err, "Match exec: ssh -G: exit status 255: ")
		require.ErrorContains(t, err, "NoSuchLevel")
		require.NotContains(t, err.Error(), "\n")
	})
	t.Run("a criterion that there is not", func(t *testing.T) {
		lookPath(t, "ssh")
		file := writeFile(t, "config", "Match moon full\n Port 1\n", 0o600)
		_, err := configDialer(t, file, SSH{}).Dial(t.Context(), hostfiles.Host{Name: "w1"})
		require.ErrorContains(t, err, "config:1: Match moon: ssh -G: exit status 255")
	})
}

// The end of the context ends the command of a condition too, not only ssh, which
// waits for it.
func TestAConditionThatHangsEndsWithTheContext(t *testing.T) {
	lookPath(t, "ssh")
	pid := filepath.Join(t.TempDir(), "pid") // a pipe: to read it is to wait for the command
	require.NoError(t, syscall.Mkfifo(pid, 0o600))
	pipe, err := os.OpenFile(pid, os.O_RDWR, 0) // which waits for no writer
	require.NoError(t, err)
	defer pipe.Close()
	file := writeFile(t, "config", fmt.Sprintf("Match exec \"echo $$ > %s; exec sleep 600\"\n Port 2200\n", pid), 0o600)
	why := errors.New("no answer within --start-timeout")
	ctx, cancel := context.WithCancelCause(t.Context())
	said := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(pipe).ReadString('\n')
		said <- line
		cancel(why)
	}()
	_, err = configDialer(t, file, SSH{}).Dial(ctx, hostfiles.Host{Name: "w1"})
	require.ErrorIs(t, err, why)
	require.ErrorContains(t, err, "Match exec: ssh -G has not answered")
	n, err := strconv.Atoi(strings.TrimSpace(<-said))
	require.NoError(t, err)
	require.Eventually(t, func() bool { return syscall.Kill(n, 0) == syscall.ESRCH }, 10*time.Second, time.Millisecond)
}
