package remote

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/gorun/gorun/internal/testhost/sshserver"
)

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

func TestHostCertificatesThatDoNotCount(t *testing.T) {
	for name, known := range map[string]struct{ pattern, want string }{
		"another authority": {"*", "host key SHA256:"},
		"another domain":    {"*.example.com", "is unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			authority, other := newAuthority(t), newAuthority(t)
			s := sshserver.Start(t, sshserver.Config{HostCA: authority})
			if name == "another domain" {
				other = authority
			}
			line := "@cert-authority " + known.pattern + " " + string(ssh.MarshalAuthorizedKey(other.PublicKey()))
			require.NoError(t, os.WriteFile(s.KnownHosts, []byte(line), 0o600))
			err := dial(t, s.Host, SSH{})
			requireStep(t, err, StepLogin)
			require.ErrorContains(t, err, known.want)
		})
	}
}
