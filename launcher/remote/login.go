package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/crypto/ssh"
)

// A login goes like this:
//
//	attempt:  wait for one of the Dialer's tokens
//	          resolve, connect             ── no such name, refused ──▶ pause, again
//	          identification, key exchange ── dropped ────────────────▶ pause, again
//	          host key                     ── not accepted ───────────▶ fail
//	          authentication               ── anything ───────────────▶ fail
//
// x/crypto's handshake knows no context, so the end of ctx closes the
// connection under it.

const (
	// firstPause is doubled up to maxPause, and each is shortened at random by
	// up to a half: hosts that were dropped together must not come back
	// together.
	firstPause = 100 * time.Millisecond
	maxPause   = 2 * time.Second

	// How long it is worth trying again: until a server has restarted; until a
	// thousand logins got through to one server that lets in three at a time;
	// until a name has reached the resolver, as long as the context.
	refusedFor    = 3 * time.Second
	droppedFor    = time.Minute
	unresolvedFor = time.Duration(math.MaxInt64)

	// tokenTime is how long a slow login keeps others waiting.
	tokenTime = 5 * time.Second

	// When a cut connection is noticed, whether idle or not. The leases of the
	// agents notice it earlier; this is for connections that have none yet.
	keepAliveIdle  = 30 * time.Second
	keepAliveEach  = 10 * time.Second
	keepAliveCount = 3
	unackedFor     = keepAliveIdle + keepAliveCount*keepAliveEach
)

// failure is how an attempt ended.
type failure struct {
	step  Step
	err   error
	worth time.Duration // how long after the first attempt another is worth it
}

// login runs attempts until one succeeds or another is of no use.
func (d *Dialer) login(ctx context.Context, s *settings) (*Conn, error) {
	start := time.Now()
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		conn, failed := d.attempt(ctx, s)
		if failed == nil {
			return conn, nil
		}
		if ctx.Err() == nil && time.Since(start) < failed.worth {
			d.log.Info("login is tried again", "host", s.Name, "step", failed.step, "error", failed.err)
			wait(ctx, pause/2+rand.N(pause/2))
			if ctx.Err() == nil {
				continue
			}
		}
		if ctx.Err() != nil {
			failed.err = fmt.Errorf("%w (%w)", failed.err, context.Cause(ctx))
		}
		return nil, &Error{Host: s.Name, Step: failed.step, Err: failed.err}
	}
}

// wait returns after d or at the end of ctx.
func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// token waits until fewer than maxLogins logins are going on. The function it
// returns ends this one; so does tokenTime, since a server that stays silent
// costs us nothing, and thirty-two of them must not hold up the rest.
func (d *Dialer) token(ctx context.Context) (release func(), err error) {
	select {
	case d.logins <- struct{}{}:
	case <-ctx.Done():
		return nil, errors.New("waiting for other logins to end")
	}
	giveBack := sync.OnceFunc(func() { <-d.logins })
	timer := time.AfterFunc(tokenTime, giveBack)
	return func() {
		timer.Stop()
		giveBack()
	}, nil
}

// attempt connects and logs in once.
func (d *Dialer) attempt(ctx context.Context, s *settings) (*Conn, *failure) {
	release, err := d.token(ctx)
	if err != nil {
		return nil, &failure{step: StepDial, err: err}
	}
	defer release()

	// ConnectTimeout covers what comes before authentication, as ssh has it.
	early, reached := ctx, func() {}
	if s.ConnectTimeout > 0 {
		cause := fmt.Errorf("no answer within ConnectTimeout %v", s.ConnectTimeout)
		early, reached = context.WithTimeoutCause(ctx, s.ConnectTimeout, cause)
	}
	defer reached()

	address := net.JoinHostPort(s.HostName, strconv.Itoa(s.Port))
	raw, err := s.connect(early, address)
	if err != nil {
		return nil, dialFailure(early, address, err)
	}
	stop := context.AfterFunc(early, func() { raw.Close() })
	defer func() { stop() }()
	h := &handshake{
		dialer: d, settings: s, ctx: ctx,
		opening: &opening{Conn: raw},
		// Once the server has proved who it is, only ctx is over it.
		reached: func() {
			stop()
			stop = context.AfterFunc(ctx, func() { raw.Close() })
		},
	}
	client, err := h.run(address)
	if err == nil && !stop() {
		client.Close()
		err = net.ErrClosed
	}
	if err != nil {
		raw.Close()
		return nil, h.failure(early, err)
	}
	return newConn(s.Name, client, d.log), nil
}

func (s *settings) connect(ctx context.Context, address string) (net.Conn, error) {
	dialer := net.Dialer{
		KeepAliveConfig: net.KeepAliveConfig{
			Enable: true, Idle: keepAliveIdle, Interval: keepAliveEach, Count: keepAliveCount,
		},
		ControlContext: func(_ context.Context, _, _ string, c syscall.RawConn) error {
			return limitUnacknowledged(c, unackedFor)
		},
	}
	if s.BindAddress != "" {
		local, err := net.ResolveTCPAddr(s.Network, net.JoinHostPort(s.BindAddress, "0"))
		if err != nil {
			return nil, fmt.Errorf("BindAddress: %w", err)
		}
		dialer.LocalAddr = local
	}
	return dialer.DialContext(ctx, s.Network, address)
}

func dialFailure(ctx context.Context, address string, err error) *failure {
	f := &failure{step: StepDial, err: err}
	dns, isDNS := errors.AsType[*net.DNSError](err)
	switch {
	case isDNS && (dns.IsNotFound || dns.IsTemporary || dns.IsTimeout):
		f.worth = unresolvedFor
	case ctx.Err() != nil:
		f.err = fmt.Errorf("no answer from %s: %w", address, context.Cause(ctx))
	case errors.Is(err, syscall.ECONNREFUSED):
		f.worth = refusedFor
	case isDropped(err):
		f.worth = droppedFor
	}
	return f
}

// isDropped says whether err is what a server leaves behind that hangs up.
func isDropped(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

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
	auth       *AuthError // nil: authentication has not begun
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
		HostKeyAlgorithms: known.algorithms(s.lookupName()),
		HostKeyCallback: func(_ string, remote net.Addr, key ssh.PublicKey) error {
			err := known.check(s, remote, key)
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
				h.auth = &AuthError{User: s.User}
			}
			h.auth.Methods = c.AllowedMethods
			return nil, nil // the next of Auth
		},
		Auth: []ssh.AuthMethod{ssh.PublicKeysCallback(h.keys)},
	}
	conn, channels, requests, err := ssh.NewClientConn(h.opening, address, config)
	if err != nil {
		return nil, err
	}
	return ssh.NewClient(conn, channels, requests), nil
}

// keys gives the keys to try and notes them.
func (h *handshake) keys() ([]ssh.Signer, error) {
	keys, trouble := h.dialer.candidates(h.ctx, h.settings)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.auth.Trouble = trouble
	signers := make([]ssh.Signer, len(keys))
	for i, k := range keys {
		signers[i] = k.Signer
		h.auth.Keys = append(h.auth.Keys, k.name)
	}
	return signers, nil
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
	case isDropped(err):
		f.worth = droppedFor
		f.err = fmt.Errorf("%s hung up before authentication: %w", server, err)
		if said != "" && !isIdentification(said) {
			f.err = fmt.Errorf("%s hung up, saying %q", server, said)
		}
	}
	return f
}
