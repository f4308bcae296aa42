package remote

import (
	"crypto/ed25519"
	"crypto/rand"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"github.com/gorun/gorun/internal/testhost/sshserver"
)

func newAuthority(t testing.TB) ssh.Signer {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	authority, err := ssh.NewSignerFromKey(private)
	require.NoError(t, err)
	return authority
}

// certifyFile writes a certificate of the key of h to a file.
func certifyFile(t testing.TB, authority ssh.Signer, h sshserver.Host, path string, change func(*ssh.Certificate)) {
	t.Helper()
	text, err := os.ReadFile(h.Key + ".pub")
	require.NoError(t, err)
	key, _, _, _, err := ssh.ParseAuthorizedKey(text)
	require.NoError(t, err)
	cert := &ssh.Certificate{Key: key, CertType: ssh.UserCert, KeyId: "of the day", ValidPrincipals: []string{h.User}, ValidBefore: ssh.CertTimeInfinity}
	if change != nil {
		change(cert)
	}
	require.NoError(t, cert.SignCert(rand.Reader, authority))
	require.NoError(t, os.WriteFile(path, ssh.MarshalAuthorizedKey(cert), 0o600))
}

func TestUserCertificate(t *testing.T) {
	tests := []struct {
		name    string
		prepare func(t *testing.T, authority ssh.Signer, h sshserver.Host) SSH
		want    string // of the error; "": let in
	}{
		{"none", func(*testing.T, ssh.Signer, sshserver.Host) SSH { return SSH{} }, "was not let in: tried "},
		{"beside the key", func(t *testing.T, a ssh.Signer, h sshserver.Host) SSH {
			certifyFile(t, a, h, h.Key+"-cert.pub", nil)
			return SSH{}
		}, ""},
		{"CertificateFile", func(t *testing.T, a ssh.Signer, h sshserver.Host) SSH {
			path := h.Key + ".elsewhere"
			certifyFile(t, a, h, path, nil)
			configure(t, h, "CertificateFile "+path)
			return SSH{}
		}, ""},
		{"of a key that the agent has", func(t *testing.T, a ssh.Signer, h sshserver.Host) SSH {
			certifyFile(t, a, h, h.Key+"-cert.pub", nil)
			return SSH{Agent: serveAgent(t, h.Key)}
		}, ""},
		{"of somebody else", func(t *testing.T, a ssh.Signer, h sshserver.Host) SSH {
			certifyFile(t, newAuthority(t), h, h.Key+"-cert.pub", nil)
			return SSH{}
		}, "with certificate of the day, "},
		{"for another user", func(t *testing.T, a ssh.Signer, h sshserver.Host) SSH {
			certifyFile(t, a, h, h.Key+"-cert.pub", func(c *ssh.Certificate) { c.ValidPrincipals = []string{"somebody"} })
			return SSH{}
		}, "was not let in: tried "},
		{"expired", func(t *testing.T, a ssh.Signer, h sshserver.Host) SSH {
			certifyFile(t, a, h, h.Key+"-cert.pub", func(c *ssh.Certificate) { c.ValidBefore = 86400 })
			return SSH{}
		}, "-cert.pub: the certificate has expired, on 1970-01-0"},
		{"of tomorrow", func(t *testing.T, a ssh.Signer, h sshserver.Host) SSH {
			certifyFile(t, a, h, h.Key+"-cert.pub", func(c *ssh.Certificate) { c.ValidAfter = uint64(time.Now().Add(24 * time.Hour).Unix()) })
			return SSH{}
		}, "-cert.pub: the certificate is valid only from "},
		{"that is a plain key", func(t *testing.T, _ ssh.Signer, h sshserver.Host) SSH {
			configure(t, h, "CertificateFile "+h.Key+".pub")
			return SSH{}
		}, "expected a certificate, found a plain ssh-ed25519 key"},
	}
	for _, server := range servers {
		for _, tt := range tests {
			t.Run(server.name+" "+tt.name, func(t *testing.T) {
				authority := newAuthority(t)
				h := server.start(t, sshserver.Config{UserCA: authority.PublicKey()})
				err := dial(t, h, tt.prepare(t, authority, h))
				if tt.want == "" {
					require.NoError(t, err)
					return
				}
				requireStep(t, err, StepLogin)
				require.ErrorContains(t, err, tt.want)
			})
		}
	}
}
