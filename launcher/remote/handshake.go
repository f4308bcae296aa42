package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"

	"golang.org/x/crypto/ssh"
)

// handshake is one run of the SSH handshake and what it got to.
type handshake struct {
	dialer   *Dialer
	settings *settings
	ctx      context.Context
	opening  *opening
	reached  func() // called once, when the host's key has been accepted

	mu         sync.Mutex
	hostKeyOK  bool
	hostKeyErr error
	auth       *AuthError  // nil: authentication has not begun
	offered    []candidate // keys given to x/crypto last
	untried    []candidate // keys after the one that could not sign
	unused     []string    // what the user hears of a login that succeeds; one that fails says so itself
}

func (h *handshake) run(address string) (*ssh.Client, error) {
	s, d := h.settings, h.dialer
	known, err := d.hostKeys(s)
	if err != nil {
		return nil, err
	}
	config := &ssh.ClientConfig{
		User:              s.User,
		ClientVersion:     "SSH-2.0-gorun",
		HostKeyAlgorithms: s.Cryptography.HostKeys.hostKeys(known.algorithms(s.lookupName())),
		Config:            ssh.Config{Ciphers: s.Cryptography.Ciphers, MACs: s.Cryptography.MACs, KeyExchanges: s.Cryptography.KeyExchanges},
		HostKeyCallback: func(_ string, remote net.Addr, key ssh.PublicKey) error {
			err := s.Cryptography.checkHostKey(key)
			if err == nil {
				err = known.check(s, remote, key)
			}
			h.mu.Lock()
			defer h.mu.Unlock()
			if h.hostKeyErr = err; err == nil && !h.hostKeyOK {
				h.hostKeyOK = true
				h.reached()
			}
			return err
		},
		BannerCallback: func(message string) error {
			d.log.Debug("the server says", "host", s.Name, "banner", message)
			return nil
		},
		AuthCallback: func(c *ssh.ClientAuthContext) (ssh.AuthMethod, error) {
			h.mu.Lock()
			defer h.mu.Unlock()
			if h.auth == nil {
				h.auth = &AuthError{User: s.User, gssapi: s.GSSAPI, hostBased: s.HostBased}
			}
			h.auth.Methods = c.AllowedMethods
			// x/crypto gives up all keys when one cannot sign.
			if keys := h.untried; len(keys) > 0 {
				h.untried = nil
				return ssh.PublicKeysCallback(func() ([]ssh.Signer, error) { return h.offer(keys), nil }), nil
			}
			return nil, nil // the next of Auth
		},
		Auth: h.methods(),
	}
	conn, channels, requests, err := ssh.NewClientConn(h.opening, address, config)
	if err != nil {
		return nil, err
	}
	for _, text := range h.unused { // the callbacks are over
		d.warn(text)
	}
	return ssh.NewClient(conn, channels, requests), nil
}

// keys gives the keys to try.
func (h *handshake) keys() ([]ssh.Signer, error) {
	login := &signing{ctx: h.ctx, host: h.settings.Name, prompt: h.prompt(), log: h.dialer.log, failed: h.cannotSign}
	keys, trouble, unused := h.dialer.candidates(login, h.settings)
	h.mu.Lock()
	h.auth.Trouble, h.unused = trouble, unused
	h.mu.Unlock()
	return h.offer(keys), nil
}

// offer notes keys that are about to be tried.
func (h *handshake) offer(keys []candidate) []ssh.Signer {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.offered = keys
	signers := make([]ssh.Signer, len(keys))
	for i, k := range keys {
		signers[i] = k.Signer
		h.auth.Keys = append(h.auth.Keys, k.name)
	}
	return signers
}

// cannotSign notes that the private half of key is of no use, and which keys
// are left to try.
func (h *handshake) cannotSign(key ssh.PublicKey, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.auth.Trouble = append(h.auth.Trouble, err.Error())
	if errors.Is(err, errHardware) {
		h.auth.hardware = err.Error()
	}
	wire := plain(key).Marshal()
	isKey := func(k candidate) bool { return bytes.Equal(plain(k.PublicKey()).Marshal(), wire) }
	if i := slices.IndexFunc(h.offered, isKey); i >= 0 {
		rest := slices.DeleteFunc(slices.Clone(h.offered[i:]), isKey)
		h.auth.Keys = h.auth.Keys[:len(h.auth.Keys)-len(h.offered)+i+1]
		h.untried = rest
	}
}

// proxy returns the command that the connection goes through, or nil.
func (h *handshake) proxy() *proxyConn {
	c, _ := h.opening.Conn.(*proxyConn)
	return c
}

// failure says how the handshake failed, given what ended it.
func (h *handshake) failure(early context.Context, err error) *failure {
	h.mu.Lock()
	defer h.mu.Unlock()
	f := &failure{step: StepLogin, err: err}
	server, said := h.opening.RemoteAddr(), h.opening.said()
	switch {
	case h.hostKeyErr != nil:
		f.err = h.hostKeyErr
	case h.ctx.Err() != nil || !h.hostKeyOK && early.Err() != nil:
		what := "accepted the connection and sent nothing"
		switch {
		case h.auth != nil:
			what = "did not finish the authentication"
		case said != "":
			what = "did not finish the key exchange"
		}
		f.err = fmt.Errorf("%s %s", server, what)
		if h.ctx.Err() == nil {
			f.err = fmt.Errorf("%w: %w", f.err, context.Cause(early))
		}
	case h.auth != nil:
		h.auth.Err = err
		f.err = h.auth
	case isDropped(err) && h.proxy() != nil && said == "":
		return h.proxy().failure()
	case isDropped(err):
		f.worth = droppedFor
		f.err = fmt.Errorf("%s hung up before authentication, as sshd does with logins beyond MaxStartups: %w", server, err)
		if said != "" && !isIdentification(said) {
			f.err = fmt.Errorf("%s hung up, saying %q", server, said)
		}
	}
	return f
}
