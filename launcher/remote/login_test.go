package remote

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
	"golang.org/x/crypto/ssh/knownhosts"

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

func TestUnknownHostKey(t *testing.T) {
	s := sshserver.Start(t, sshserver.Config{})
	require.NoError(t, s.ForgetKnownHosts())
	err := dial(t, s.Host, SSH{})
	requireStep(t, err, StepLogin)
	var key *HostKeyError
	require.ErrorAs(t, err, &key)
	require.Equal(t, &HostKeyError{Type: "ssh-ed25519", Fingerprint: ssh.FingerprintSHA256(s.HostKey), File: s.KnownHosts}, key)
	for _, part := range []string{"127.0.0.1: login: ", key.Fingerprint, s.KnownHosts, "--accept-new-host-keys"} {
		require.ErrorContains(t, err, part)
	}
	text, readErr := os.ReadFile(s.KnownHosts)
	require.NoError(t, readErr)
	require.Empty(t, text)
}

func TestNewHostKeysAreStored(t *testing.T) {
	for _, hashed := range []bool{false, true} {
		s := sshserver.Start(t, sshserver.Config{})
		// A file of somebody who forgot the last newline, in a folder that is
		// still to be made.
		s.KnownHosts = filepath.Join(t.TempDir(), "ssh", "known_hosts")
		configure(t, s.Host, "UserKnownHostsFile "+s.KnownHosts)
		if hashed {
			configure(t, s.Host, "HashKnownHosts yes")
			require.NoError(t, os.Mkdir(filepath.Dir(s.KnownHosts), 0o700))
			require.NoError(t, os.WriteFile(s.KnownHosts, []byte("# mine"), 0o600))
		}
		require.NoError(t, dial(t, s.Host, SSH{AcceptNewHostKeys: true}))
		require.NoError(t, dial(t, s.Host, SSH{}), "it is known now")
		text, err := os.ReadFile(s.KnownHosts)
		require.NoError(t, err)
		require.Equal(t, !hashed, strings.Contains(string(text), "127.0.0.1"), "%s", text)
		require.Equal(t, hashed, strings.HasPrefix(string(text), "# mine\n|1|"), "%s", text)
		info, err := os.Stat(s.KnownHosts)
		require.NoError(t, err)
		require.EqualValues(t, 0o600, info.Mode().Perm())
	}
}

// Many logins at once store a key once, and whole.
func TestNewHostKeysAreStoredOnce(t *testing.T) {
	s := sshserver.Start(t, sshserver.Config{})
	require.NoError(t, s.ForgetKnownHosts())
	var wg sync.WaitGroup
	for range 4 { // as many processes
		d := dialerFor(t, s.Host, SSH{AcceptNewHostKeys: true})
		for range 4 {
			wg.Go(func() {
				c, err := d.Dial(t.Context(), s.Entry())
				if err != nil {
					t.Error(err)
					return
				}
				c.Close()
			})
		}
	}
	wg.Wait()
	text, err := os.ReadFile(s.KnownHosts)
	require.NoError(t, err)
	require.Equal(t, knownhosts.Line([]string{s.Addr.String()}, s.HostKey)+"\n", string(text))
}

func TestChangedHostKeyIsNeverAccepted(t *testing.T) {
	s := sshserver.Start(t, sshserver.Config{})
	require.NoError(t, s.ForgeKnownHosts())
	configure(t, s.Host, "StrictHostKeyChecking no")
	err := dial(t, s.Host, SSH{AcceptNewHostKeys: true})
	requireStep(t, err, StepLogin)
	var key *HostKeyError
	require.ErrorAs(t, err, &key)
	require.Equal(t, 1, key.Line)
	require.ErrorContains(t, err, s.KnownHosts+":1")
	require.Zero(t, s.Logins())
}

func TestRevokedHostKey(t *testing.T) {
	s := sshserver.Start(t, sshserver.Config{})
	known, err := os.ReadFile(s.KnownHosts)
	require.NoError(t, err)
	known = append(known, "@revoked * "+string(ssh.MarshalAuthorizedKey(s.HostKey))...)
	require.NoError(t, os.WriteFile(s.KnownHosts, known, 0o600))
	err = dial(t, s.Host, SSH{AcceptNewHostKeys: true})
	var key *HostKeyError
	require.ErrorAs(t, err, &key)
	require.True(t, key.Revoked)
	require.ErrorContains(t, err, "revoked at "+s.KnownHosts+":2")
}

func TestHostKeyAlias(t *testing.T) {
	s := sshserver.Start(t, sshserver.Config{})
	require.NoError(t, os.WriteFile(s.KnownHosts, []byte(knownhosts.Line([]string{"store"}, s.HostKey)), 0o600))
	configure(t, s.Host, "HostKeyAlias store")
	require.NoError(t, dial(t, s.Host, SSH{}))
}

func TestHostCertificate(t *testing.T) {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	authority, err := ssh.NewSignerFromKey(private)
	require.NoError(t, err)
	s := sshserver.Start(t, sshserver.Config{HostCA: authority})
	line := "@cert-authority * " + string(ssh.MarshalAuthorizedKey(authority.PublicKey()))
	require.NoError(t, os.WriteFile(s.KnownHosts, []byte(line), 0o600))
	require.NoError(t, dial(t, s.Host, SSH{}))
}

// The algorithms of a host's known keys come first, and certificates only
// where their authority is known.
func TestHostKeyAlgorithms(t *testing.T) {
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	rsaKey, err := ssh.NewPublicKey(&private.PublicKey)
	require.NoError(t, err)
	lines := knownhosts.Line([]string{"old"}, rsaKey) + "\n@cert-authority *.lab " + string(ssh.MarshalAuthorizedKey(rsaKey))
	k := &hostKeys{files: []string{writeFile(t, "known_hosts", lines, 0o600)}}
	require.NoError(t, k.read())

	algorithms := k.algorithms("old:22")
	require.ElementsMatch(t, []string{ssh.KeyAlgoRSASHA256, ssh.KeyAlgoRSASHA512}, algorithms[:2])
	require.Contains(t, algorithms, ssh.KeyAlgoED25519, "so that a changed key is shown and refused")
	require.NotContains(t, algorithms, ssh.CertAlgoED25519v01)
	require.NotContains(t, algorithms, ssh.KeyAlgoRSA, "SHA-1")

	require.Equal(t, ssh.KeyAlgoED25519, k.algorithms("new:22")[0])
	require.Contains(t, k.algorithms("n1.lab:22")[0], "-cert-v01@openssh.com")
}

func TestAuthentication(t *testing.T) {
	s := sshserver.Start(t, sshserver.Config{Faults: sshserver.Faults{RejectKeys: true}})
	err := dial(t, s.Host, SSH{Key: filepath.Join(s.Dir, "absent")})
	requireStep(t, err, StepLogin)
	var auth *AuthError
	require.ErrorAs(t, err, &auth)
	require.Equal(t, s.User, auth.User)
	require.Equal(t, []string{"publickey"}, auth.Methods)
	require.Equal(t, []string{s.Key}, auth.Keys)
	require.Len(t, auth.Trouble, 1)
	require.ErrorContains(t, err, "user tester was not let in: tried "+s.Key)
	require.ErrorContains(t, err, "absent: no such file")
	require.Zero(t, s.Logins())
}

func TestRejectedLoginsAreNotRepeated(t *testing.T) {
	s := sshserver.Start(t, sshserver.Config{Faults: sshserver.Faults{RejectKeys: true}})
	require.Error(t, dial(t, s.Host, SSH{}))
	require.Equal(t, 1, s.Connections())
}

func TestOpenKeyFileIsRefused(t *testing.T) {
	s := sshserver.Start(t, sshserver.Config{})
	require.NoError(t, os.Chmod(s.Key, 0o644))
	err := dial(t, s.Host, SSH{})
	require.ErrorContains(t, err, "found mode 0644 (chmod 600 it)")
	require.ErrorContains(t, err, "no key to try")
}

// encrypt replaces the server's client key file by an encrypted one.
func encrypt(t testing.TB, path, passphrase string) {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	key, err := ssh.ParseRawPrivateKey(text)
	require.NoError(t, err)
	block, err := ssh.MarshalPrivateKeyWithPassphrase(*key.(*ed25519.PrivateKey), "", []byte(passphrase))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, pem.EncodeToMemory(block), 0o600))
}

func TestEncryptedKey(t *testing.T) {
	s := sshserver.Start(t, sshserver.Config{})
	encrypt(t, s.Key, "secret")

	err := dial(t, s.Host, SSH{})
	require.ErrorContains(t, err, "nobody to ask for its passphrase")

	// Many hosts, one question, asked again after a wrong answer.
	var asked atomic.Int32
	answers := []string{"wrong", "secret"}
	prompt := func(_ context.Context, host, question string) ([]byte, error) {
		if !strings.Contains(question, s.Key) || host != "127.0.0.1" {
			t.Errorf("%s was asked %q", host, question)
		}
		return []byte(answers[asked.Add(1)-1]), nil
	}
	d := dialerFor(t, s.Host, SSH{Prompt: prompt})
	var wg sync.WaitGroup
	for range 8 {
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
	require.EqualValues(t, 2, asked.Load())
	require.Equal(t, 8, s.Logins())
}

func TestEncryptedKeyIsAskedForOnlyIfItHelps(t *testing.T) {
	s := sshserver.Start(t, sshserver.Config{Faults: sshserver.Faults{RejectKeys: true}})
	encrypt(t, s.Key, "secret")
	err := dial(t, s.Host, SSH{Prompt: func(context.Context, string, string) ([]byte, error) {
		t.Error("asked for the passphrase of a key that the server rejects")
		return nil, errors.New("no")
	}})
	requireStep(t, err, StepLogin)
}

func TestEncryptedKeyAsksThreeTimes(t *testing.T) {
	s := sshserver.Start(t, sshserver.Config{})
	encrypt(t, s.Key, "secret")
	asked := 0
	d := dialerFor(t, s.Host, SSH{Prompt: func(context.Context, string, string) ([]byte, error) {
		asked++
		return []byte("guess"), nil
	}})
	for range 2 {
		_, err := d.Dial(t.Context(), s.Entry())
		require.ErrorContains(t, err, "no passphrase of 3 was right")
	}
	require.Equal(t, 3, asked)
}

// serveAgent runs an ssh-agent with the key of a file, which it takes away.
func serveAgent(t testing.TB, keyFile string) (socket string) {
	t.Helper()
	text, err := os.ReadFile(keyFile)
	require.NoError(t, err)
	key, err := ssh.ParseRawPrivateKey(text)
	require.NoError(t, err)
	require.NoError(t, os.Remove(keyFile))
	ring := agent.NewKeyring()
	require.NoError(t, ring.Add(agent.AddedKey{PrivateKey: key}))
	socket = filepath.Join(t.TempDir(), "agent")
	l, err := net.Listen("unix", socket)
	require.NoError(t, err)
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer c.Close()
				agent.ServeAgent(ring, c)
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		serving.Wait()
	})
	return socket
}

func TestAgentSigns(t *testing.T) {
	s := sshserver.Start(t, sshserver.Config{})
	d := func(conf SSH) *Dialer { return dialerFor(t, s.Host, conf) }
	socket := serveAgent(t, s.Key)

	// IdentitiesOnly, which the server's ssh_config asks for: the file of the
	// public half says which of the agent's keys to use.
	c, err := d(SSH{Agent: socket}).Dial(t.Context(), s.Entry())
	require.NoError(t, err)
	require.NoError(t, c.Close())

	require.NoError(t, os.Remove(s.Key+".pub"))
	_, err = d(SSH{Agent: socket}).Dial(t.Context(), s.Entry())
	require.ErrorContains(t, err, "no key to try")

	configure(t, s.Host, "IdentitiesOnly no\nIdentityAgent "+socket)
	c, err = d(SSH{}).Dial(t.Context(), s.Entry())
	require.NoError(t, err)
	require.NoError(t, c.Close())

	_, err = d(SSH{Agent: socket + ".absent"}).Dial(t.Context(), s.Entry())
	require.ErrorContains(t, err, "agent "+socket+".absent")
}

func TestSilentAgentDoesNotOutliveTheContext(t *testing.T) {
	s := sshserver.Start(t, sshserver.Config{})
	socket := filepath.Join(t.TempDir(), "agent")
	l, err := net.Listen("unix", socket)
	require.NoError(t, err)
	defer l.Close()
	ctx, cancel := context.WithCancel(t.Context())
	d := dialerFor(t, s.Host, SSH{Agent: socket})
	go func() {
		c, err := l.Accept()
		if err == nil {
			io.ReadFull(c, make([]byte, 1)) // it has been asked
			cancel()
			io.Copy(io.Discard, c)
			c.Close()
		}
	}()
	_, err = d.Dial(ctx, s.Entry())
	require.ErrorIs(t, err, context.Canceled)
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
	s := sshserver.Start(t, sshserver.Config{Faults: sshserver.Faults{Silent: true}})
	configure(t, s.Host, "ConnectTimeout 1")
	err := dial(t, s.Host, SSH{})
	requireStep(t, err, StepLogin)
	require.ErrorContains(t, err, "no answer within ConnectTimeout 1s")
}

// ConnectTimeout ends with the key exchange: authentication may take longer.
func TestConnectTimeoutIsNotForAuthentication(t *testing.T) {
	s := sshserver.Start(t, sshserver.Config{Faults: sshserver.Faults{LoginDelay: 1500 * time.Millisecond}})
	configure(t, s.Host, "ConnectTimeout 1")
	require.NoError(t, dial(t, s.Host, SSH{}))
}

func TestServerThatIsNotSSH(t *testing.T) {
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
