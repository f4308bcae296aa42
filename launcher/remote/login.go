package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"syscall"
	"time"
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
	// until a name has reached the resolver, which takes seconds where machines
	// are made for a job. A name that is mistyped never does, and its author
	// waits.
	refusedFor    = 3 * time.Second
	droppedFor    = time.Minute
	unresolvedFor = 10 * time.Second

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

// login runs attempts until one succeeds or another is of no use. It tells
// note, which may be nil, why each failed that another follows.
func (d *Dialer) login(ctx context.Context, s *settings, note func(error)) (*Conn, error) {
	if c := d.dialMaster(ctx, s); c != nil {
		return c, nil
	}
	var start time.Time // when this host's own attempts began
	var last *failure
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		// Before the token: those who wait for a jump host must not keep the
		// tokens from it.
		jump, err := d.through(ctx, s)
		if start.IsZero() {
			start = time.Now()
		}
		failed := &failure{step: StepDial, err: err}
		if err == nil {
			var conn *Conn
			if conn, failed = d.attempt(ctx, s, jump); failed == nil {
				return conn, nil
			}
			d.abandon(s, jump)
		}
		switch {
		case ctx.Err() != nil:
			if last != nil {
				failed = last // says more than that the time was over
			}
			failed.err = because(ctx, failed.err)
		case time.Since(start) < failed.worth:
			d.log.Info("login is tried again", "host", s.Name, "step", failed.step, "error", failed.err)
			last = failed
			if note != nil {
				note(failed.err)
			}
			wait(ctx, pause/2+rand.N(pause/2))
			continue
		case failed.worth > 0:
			failed.err = fmt.Errorf("%w (tried again for %v)", failed.err, failed.worth)
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

// errWaiting is how far a login came that had to wait for others.
var errWaiting = errors.New("waiting for other logins to end")

// takeToken waits for one of tokens, of which there are as many as logins may
// go on at a time. The function it returns gives it back; so does tokenTime,
// since a server that stays silent costs us nothing, and thirty-two of them must
// not hold up the rest.
func takeToken(ctx context.Context, tokens chan struct{}) (release func(), err error) {
	select {
	case tokens <- struct{}{}:
	case <-ctx.Done():
		return nil, errWaiting
	}
	giveBack := sync.OnceFunc(func() { <-tokens })
	timer := time.AfterFunc(tokenTime, giveBack)
	return func() {
		timer.Stop()
		giveBack()
	}, nil
}

// attempt connects and logs in once, through jump if that is not nil. The Conn
// leaves jump when it is closed.
func (d *Dialer) attempt(ctx context.Context, s *settings, jump *jumpHost) (*Conn, *failure) {
	release, err := takeToken(ctx, d.logins)
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

	raw, err := d.connect(early, s, jump)
	if err != nil {
		return nil, dialFailure(early, s.address(), err)
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
	client, err := h.run(s.address())
	if err == nil && !stop() {
		client.Close()
		err = net.ErrClosed
	}
	if err != nil {
		raw.Close()
		return nil, h.failure(early, err)
	}
	c := newConn(s.Name, raw, client, d.log, func() {
		if jump != nil {
			d.leave(jump)
		}
	})
	if s.AliveInterval > 0 && s.AliveCount > 0 {
		c.running.Go(func() { c.keepAlive(s.AliveInterval, s.AliveCount) })
	}
	return c, nil
}

// connect makes the connection to log in over.
func (d *Dialer) connect(ctx context.Context, s *settings, jump *jumpHost) (net.Conn, error) {
	switch {
	case jump != nil:
		return jump.dial(ctx, s.address())
	case s.ProxyCommand != "":
		return s.startProxyCommand()
	}
	return s.dialTCP(ctx, d.resolver)
}

// dialTCP connects directly.
func (s *settings) dialTCP(ctx context.Context, resolver *net.Resolver) (net.Conn, error) {
	dialer := net.Dialer{
		Resolver: resolver,
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
	return dialer.DialContext(ctx, s.Network, s.address())
}

func dialFailure(ctx context.Context, address string, err error) *failure {
	f := &failure{step: StepDial, err: err}
	dns, isDNS := errors.AsType[*net.DNSError](err)
	jump, isJump := errors.AsType[*jumpError](err)
	switch {
	case isJump:
		f.worth = jump.worth()
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

// because adds to err why ctx ended, unless err says so.
func because(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	if cause == nil || errors.Is(err, cause) {
		return err
	}
	return fmt.Errorf("%w (%w)", err, cause)
}
