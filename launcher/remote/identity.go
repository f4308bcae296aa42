package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"syscall"
	"time"

	"golang.org/x/crypto/ssh"
)

// identity is a private key in a file. Of an encrypted one only the public
// half is known until a server would accept it.
type identity struct {
	path   string
	public ssh.PublicKey

	unlock chan struct{} // holds one token, taken to use what follows
	signer ssh.Signer    // nil: still encrypted
	pem    []byte
	denied error // why it stays encrypted
}

const (
	maxKeySize  = 1 << 20
	maxAnswers  = 3 // passphrases tried for a key, as ssh does
	maxCertSize = 1 << 20
)

// identity returns the key in a file, reading it if no login has before.
func (d *Dialer) identity(path string) (*identity, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if id := d.keys[path]; id != nil {
		return id, nil
	}
	id, err := readIdentity(path)
	if err != nil {
		return nil, err
	}
	d.keys[path] = id
	return id, nil
}

func readIdentity(path string) (*identity, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	// As ssh has it: only the mode of our own files counts.
	if ownedByUs(info) && info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%s: expected a private key that only its owner can read, found mode %04o (chmod 600 it)", path, info.Mode().Perm())
	}
	text, err := readSmall(path, maxKeySize)
	if err != nil {
		return nil, err
	}
	id := &identity{path: path, unlock: make(chan struct{}, 1)}
	id.unlock <- struct{}{}
	id.signer, err = ssh.ParsePrivateKey(text)
	if err == nil {
		id.public = id.signer.PublicKey()
		return id, nil
	}
	if public := securityKey(path); public != nil {
		id.public, id.denied = public, fmt.Errorf("%s: %w", path, errHardware)
		return id, nil
	}
	missing, ok := errors.AsType[*ssh.PassphraseMissingError](err)
	if !ok {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	id.pem = text
	if id.public = missing.PublicKey; id.public == nil {
		// The older formats do not have the public half outside.
		public, err := readSmall(path+".pub", maxKeySize)
		if err != nil {
			return nil, fmt.Errorf("%s is encrypted, and its public half cannot be read: %w", path, err)
		}
		if id.public, _, _, _, err = ssh.ParseAuthorizedKey(public); err != nil {
			return nil, fmt.Errorf("%s.pub: %w", path, err)
		}
	}
	return id, nil
}

// securityKey returns the public half, from the file beside it, of a key whose
// other half is in a piece of hardware (OpenSSH's PROTOCOL.u2f). It returns nil if
// it is another key.
func securityKey(path string) ssh.PublicKey {
	text, err := readSmall(path+".pub", maxKeySize)
	if err != nil {
		return nil
	}
	public, _, _, _, err := ssh.ParseAuthorizedKey(text)
	if err != nil || public.Type() != ssh.KeyAlgoSKED25519 && public.Type() != ssh.KeyAlgoSKECDSA256 {
		return nil
	}
	return public
}

// open returns the key's signer, asking for the passphrase if need be. Others
// who need the key meanwhile wait, each as long as its context.
func (id *identity) open(login *signing) (ssh.Signer, error) {
	ctx := login.ctx
	select {
	case <-id.unlock:
		defer func() { id.unlock <- struct{}{} }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if id.signer != nil || id.denied != nil {
		return id.signer, id.denied
	}
	if login.prompt == nil {
		return nil, fmt.Errorf("%s is encrypted, and there is nobody to ask for its passphrase; add it to ssh-agent", id.path)
	}
	for range maxAnswers {
		answer, err := login.prompt(ctx, Question{Host: login.host, Text: fmt.Sprintf("Enter passphrase for key '%s':", id.path)})
		if err != nil {
			if ctx.Err() == nil {
				id.denied = fmt.Errorf("%s: %w", id.path, err)
			}
			return nil, err
		}
		signer, err := ssh.ParsePrivateKeyWithPassphrase(id.pem, answer)
		clear(answer)
		if err == nil {
			id.signer = signer
			return signer, nil
		}
		login.log.Debug("passphrase not accepted", "key", id.path, "error", err)
	}
	id.denied = fmt.Errorf("%s: no passphrase of %d was right", id.path, maxAnswers)
	return nil, id.denied
}

// signing is the login on whose behalf keys sign.
type signing struct {
	ctx    context.Context
	host   string
	prompt func(context.Context, Question) ([]byte, error) // nil: nobody is there to ask
	log    *slog.Logger
	// failed hears of keys that the server would accept and that cannot sign.
	failed func(key ssh.PublicKey, err error)
}

// fileSigner signs with an identity.
type fileSigner struct {
	*identity
	login *signing
}

func (s *fileSigner) PublicKey() ssh.PublicKey { return s.public }

// Algorithms prefers SHA-2 for RSA keys, and has no SHA-1 (RFC 8332).
func (s *fileSigner) Algorithms() []string {
	if t := s.public.Type(); t != ssh.KeyAlgoRSA {
		return []string{t}
	}
	return []string{ssh.KeyAlgoRSASHA256, ssh.KeyAlgoRSASHA512}
}

func (s *fileSigner) Sign(rand io.Reader, data []byte) (*ssh.Signature, error) {
	return s.SignWithAlgorithm(rand, data, s.Algorithms()[0])
}

func (s *fileSigner) SignWithAlgorithm(rand io.Reader, data []byte, algorithm string) (*ssh.Signature, error) {
	signer, err := s.open(s.login)
	if err != nil {
		s.login.failed(s.public, err)
		return nil, err
	}
	if as, ok := signer.(ssh.AlgorithmSigner); ok {
		return as.SignWithAlgorithm(rand, data, algorithm)
	}
	return signer.Sign(rand, data)
}

// certificate returns the certificate in a file.
func certificate(path string) (*ssh.Certificate, error) {
	text, err := readSmall(path, maxCertSize)
	if err != nil {
		return nil, err
	}
	key, _, _, _, err := ssh.ParseAuthorizedKey(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	cert, ok := key.(*ssh.Certificate)
	if !ok {
		return nil, fmt.Errorf("%s: expected a certificate, found a plain %s key", path, key.Type())
	}
	// Zero is the beginning of time, and all ones its end (OpenSSH's
	// PROTOCOL.certkeys).
	now := uint64(time.Now().Unix())
	if cert.ValidBefore != ssh.CertTimeInfinity && now >= cert.ValidBefore {
		return nil, fmt.Errorf("%s: the certificate has expired, on %s", path, time.Unix(int64(cert.ValidBefore), 0).Format(time.DateTime))
	}
	if now < cert.ValidAfter {
		return nil, fmt.Errorf("%s: the certificate is valid only from %s on", path, time.Unix(int64(cert.ValidAfter), 0).Format(time.DateTime))
	}
	return cert, nil
}

// candidate is a key to try, with the name by which it is reported.
type candidate struct {
	ssh.Signer
	name string
}

// candidates returns the keys for a login, in the order in which they are
// tried: keys that were asked for, then the agent's others, then the default
// files. (OpenSSH has the agent's before files that were asked for, which
// servers that allow six attempts often answer with a hang-up.) Trouble is
// what was asked for and cannot be used.
func (d *Dialer) candidates(login *signing, s *settings) (keys []candidate, trouble []string) {
	var fromAgent []ssh.Signer
	if s.Agent != "" {
		a, err := d.signingAgent(login.ctx, s.Agent)
		if err == nil {
			fromAgent, err = a.keys(login)
		}
		if err != nil {
			trouble = append(trouble, fmt.Sprintf("agent %s: %v", s.Agent, err))
			if d.conf.Agent != "" {
				d.warn(fmt.Sprintf("the signing agent %s is not used: %v", s.Agent, err))
			}
		}
	}
	var certs []*ssh.Certificate
	for _, path := range s.Certificates {
		cert, err := certificate(path)
		if err != nil {
			trouble = append(trouble, err.Error())
			continue
		}
		certs = append(certs, cert)
	}

	used := map[string]bool{} // by wire form
	add := func(signer ssh.Signer, name string) {
		if wire := string(signer.PublicKey().Marshal()); !used[wire] {
			used[wire] = true
			keys = append(keys, candidate{signer, name})
		}
	}
	addFile := func(file keyFile) {
		signer, name, err := d.fileSigner(login, file.path, fromAgent)
		if err != nil {
			if file.explicit || !errors.Is(err, os.ErrNotExist) {
				trouble = append(trouble, err.Error())
			}
			if file.asked {
				d.warn(fmt.Sprintf("the key %s is not used: %v", file.path, err))
			}
			return
		}
		own := certs
		if cert, err := certificate(strings.TrimSuffix(file.path, ".pub") + "-cert.pub"); err == nil {
			own = append(own[:len(own):len(own)], cert)
		} else if !errors.Is(err, os.ErrNotExist) {
			trouble = append(trouble, err.Error())
		}
		for _, cert := range own {
			if withCert, err := ssh.NewCertSigner(cert, signer); err == nil {
				add(withCert, name+" with certificate "+cert.KeyId)
			}
		}
		add(signer, name)
	}

	for _, file := range s.Keys {
		if file.explicit {
			addFile(file)
		}
	}
	if !s.IdentitiesOnly {
		for _, signer := range fromAgent {
			add(signer, describe(signer.PublicKey())+" of the agent")
		}
	}
	for _, file := range s.Keys {
		if !file.explicit {
			addFile(file)
		}
	}
	return keys, trouble
}

// fileSigner returns the signer of a key file: the agent's, if it has the
// key, because that needs no passphrase. Then the public half is enough.
func (d *Dialer) fileSigner(login *signing, path string, fromAgent []ssh.Signer) (ssh.Signer, string, error) {
	public := ssh.PublicKey(nil)
	id, err := d.identity(path)
	if err == nil {
		public = id.public
	} else if text, pubErr := readSmall(strings.TrimSuffix(path, ".pub")+".pub", maxKeySize); pubErr == nil {
		public, _, _, _, _ = ssh.ParseAuthorizedKey(text)
	}
	if public != nil {
		for _, signer := range fromAgent {
			if bytes.Equal(signer.PublicKey().Marshal(), public.Marshal()) {
				return signer, path + " (by the agent)", nil
			}
		}
	}
	if err != nil {
		return nil, "", err
	}
	return &fileSigner{id, login}, path, nil
}

// plain returns the key of a certificate, and any other key as it is.
func plain(key ssh.PublicKey) ssh.PublicKey {
	if cert, ok := key.(*ssh.Certificate); ok {
		return cert.Key
	}
	return key
}

// describe names a key by type and fingerprint.
func describe(key ssh.PublicKey) string { return key.Type() + " " + ssh.FingerprintSHA256(key) }

func readSmall(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = fmt.Errorf("%s: more than %d bytes", path, limit)
	}
	return text, err
}

// ownedByUs says whether a file belongs to this process's user.
func ownedByUs(info os.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Getuid()
}
