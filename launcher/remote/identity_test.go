package remote

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/gorun/gorun/internal/testhost/sshserver"
)

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
	require.NotContains(t, err.Error(), "methods remain", "what the keys and methods listed say already")
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

func TestThePublicHalfOfAKeyIsRefused(t *testing.T) {
	s := sshserver.Start(t, sshserver.Config{})
	id, err := readIdentity(s.Key)
	require.NoError(t, err)
	public := s.Key + ".pub"
	require.NoError(t, os.WriteFile(public, ssh.MarshalAuthorizedKey(id.public), 0o644))
	_, err = readIdentity(public)
	require.ErrorContains(t, err, public+" is a public key, whose private half the signing agent does not have: give "+s.Key)
	require.NotContains(t, err.Error(), "mode")
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
	prompt := func(_ context.Context, q Question) ([]byte, error) {
		if !strings.Contains(q.Text, s.Key) || q.Host != "127.0.0.1" || q.Echo {
			t.Errorf("asked %+v", q)
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
	err := dial(t, s.Host, SSH{Prompt: func(context.Context, Question) ([]byte, error) {
		t.Error("asked for the passphrase of a key that the server rejects")
		return nil, errors.New("no")
	}})
	requireStep(t, err, StepLogin)
}

// A key that cannot be unlocked does not keep the next from being tried.
func TestKeyAfterOneThatCannotSign(t *testing.T) {
	s := sshserver.Start(t, sshserver.Config{AnyKey: true})
	locked := writeFile(t, "locked", "", 0o600)
	newKey(t, locked)
	encrypt(t, locked, "secret")
	require.NoError(t, dial(t, s.Host, SSH{Key: locked}))

	require.NoError(t, os.Remove(s.Key))
	require.NoError(t, os.Remove(s.Key+".pub"))
	err := dial(t, s.Host, SSH{Key: locked})
	require.ErrorContains(t, err, "tried "+locked+"; ")
	require.ErrorContains(t, err, "nobody to ask for its passphrase")
	require.Equal(t, 1, strings.Count(err.Error(), "nobody to ask"))
}

// newKey replaces a key file by another key.
func newKey(t testing.TB, path string) {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	block, err := ssh.MarshalPrivateKey(private, "")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, pem.EncodeToMemory(block), 0o600))
}

func TestEncryptedKeyAsksThreeTimes(t *testing.T) {
	s := sshserver.Start(t, sshserver.Config{})
	encrypt(t, s.Key, "secret")
	asked := 0
	d := dialerFor(t, s.Host, SSH{Prompt: func(context.Context, Question) ([]byte, error) {
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
