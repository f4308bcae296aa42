package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"syscall"

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
	maxKeySize = 1 << 20
	maxAnswers = 3 // passphrases tried for a key, as ssh does
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
	text, err := readSmall(path, maxKeySize)
	if err != nil {
		return nil, err
	}
	if _, _, _, _, err := ssh.ParseAuthorizedKey(text); err == nil {
		give := "the private key"
		if private, ok := strings.CutSuffix(path, ".pub"); ok {
			give = private
		}
		return nil, fmt.Errorf("%s is a public key, whose private half the signing agent does not have: give %s", path, give)
	}
	// As ssh has it: only the mode of our own files counts.
	if ownedByUs(info) && info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%s: expected a private key that only its owner can read, found mode %04o (chmod 600 it)", path, info.Mode().Perm())
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
