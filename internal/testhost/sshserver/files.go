package sshserver

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

func newSigner() (ssh.Signer, error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	return ssh.NewSignerFromKey(key)
}

// certify returns a signer that shows a certificate, valid for 127.0.0.1,
// of key by authority.
func certify(key, authority ssh.Signer) (ssh.Signer, error) {
	cert := &ssh.Certificate{
		Key:             key.PublicKey(),
		CertType:        ssh.HostCert,
		KeyId:           "server",
		ValidPrincipals: []string{"127.0.0.1"},
		ValidBefore:     ssh.CertTimeInfinity,
	}
	if err := cert.SignCert(rand.Reader, authority); err != nil {
		return nil, err
	}
	return ssh.NewCertSigner(cert, key)
}

// newKeyFile makes a key pair, writes path and path.pub, and returns the
// public half.
func newKeyFile(path string) (ssh.PublicKey, error) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
		return nil, err
	}
	key, err := ssh.NewPublicKey(public)
	if err != nil {
		return nil, err
	}
	return key, os.WriteFile(path+".pub", ssh.MarshalAuthorizedKey(key), 0o644)
}

// writeClientFiles writes known_hosts with the given keys, and ssh_config.
func (h *Host) writeClientFiles(dir string, hostKeys ...ssh.PublicKey) error {
	h.KnownHosts = filepath.Join(dir, "known_hosts")
	h.Config = filepath.Join(dir, "ssh_config")
	var known []byte
	for _, key := range hostKeys {
		known = fmt.Appendln(known, knownhosts.Line([]string{h.Addr.String()}, key))
	}
	if err := os.WriteFile(h.KnownHosts, known, 0o600); err != nil {
		return err
	}
	config := fmt.Sprintf(`Host *
	Port %d
	User %s
	IdentityFile "%s"
	IdentitiesOnly yes
	IdentityAgent none
	UserKnownHostsFile "%s"
	GlobalKnownHostsFile none
`, h.Addr.Port(), h.User, h.Key, h.KnownHosts)
	return os.WriteFile(h.Config, []byte(config), 0o600)
}

// ForgeKnownHosts makes the client's known_hosts file name another key than
// the server has: what a client sees when somebody else answers for a host.
func (h Host) ForgeKnownHosts() error {
	other, err := newSigner()
	if err != nil {
		return err
	}
	return h.writeClientFiles(filepath.Dir(h.KnownHosts), other.PublicKey())
}

// ForgetKnownHosts empties the client's known_hosts file.
func (h Host) ForgetKnownHosts() error { return os.WriteFile(h.KnownHosts, nil, 0o600) }
