package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"
)

// jumpHost is a login that other logins go through. There is one for all hosts
// behind it: each forwards a channel. The Dialer keeps it until it is closed
// itself, the connections through it until they are.
type jumpHost struct {
	name   string
	dialed chan struct{} // closed when conn or err is set
	conn   *Conn
	err    error
	cancel context.CancelFunc // ends the login

	failed error // under Dialer.mu: why the last attempt failed, while another is made
	users  int   // under Dialer.mu: the Dialer, logins and connections
}

// way names a login and everything that it goes through. Logins of one way
// share it.
func (s *settings) way() string {
	if s.Jump == nil {
		return s.login() + " " + s.HostKeyAlias
	}
	return s.Jump.way() + " → " + s.login() + " " + s.HostKeyAlias
}

// through returns the login on the host that s is behind, making it if no host
// has before. It returns nil if s is reached without one. The caller leaves it
// when done.
func (d *Dialer) through(ctx context.Context, s *settings) (*jumpHost, error) {
	if s.Jump == nil {
		return nil, nil
	}
	way := s.Jump.way()
	d.mu.Lock()
	j := d.jumps[way]
	if j == nil {
		j = &jumpHost{name: s.Jump.Name, dialed: make(chan struct{}), users: 1}
		d.jumps[way] = j
		// One host's patience must not end a login that all are waiting for.
		var dialing context.Context
		dialing, j.cancel = context.WithCancel(context.WithoutCancel(ctx))
		d.jumping.Go(func() {
			j.conn, j.err = d.login(dialing, s.Jump, func(err error) {
				d.mu.Lock()
				defer d.mu.Unlock()
				j.failed = err
			})
			close(j.dialed)
		})
	}
	j.users++
	d.mu.Unlock()

	var err error
	select {
	case <-j.dialed:
		err = j.err
	case <-ctx.Done():
		err = errors.New("not logged in yet")
		d.mu.Lock()
		if j.failed != nil {
			err = fmt.Errorf("%w: %w", err, j.failed)
		}
		d.mu.Unlock()
	}
	if err != nil {
		d.leave(j)
		if at, ok := errors.AsType[*Error](err); ok && at.Host == j.name {
			err = fmt.Errorf("%s: %w", at.Step, at.Err)
		}
		return nil, fmt.Errorf("jump host %s: %w", j.name, err)
	}
	return j, nil
}

// leave gives up one use of j. The last one ends it.
func (d *Dialer) leave(j *jumpHost) {
	d.mu.Lock()
	j.users--
	last := j.users == 0
	d.mu.Unlock()
	if last {
		j.cancel()
		<-j.dialed
		if j.conn != nil {
			j.conn.Close()
		}
	}
}

// abandon gives up the use of j, which may be nil, by a login that failed. If the
// connection to j is no more, the next login through it is to be a new one.
func (d *Dialer) abandon(s *settings, j *jumpHost) {
	if j == nil {
		return
	}
	if j.conn.isEnded() {
		d.mu.Lock()
		way := s.Jump.way()
		ours := d.jumps[way] == j
		if ours {
			delete(d.jumps, way)
		}
		d.mu.Unlock()
		if ours {
			d.leave(j) // the Dialer's own use
		}
	}
	d.leave(j)
}

// dial connects to address from the jump host (RFC 4254, section 7.2).
func (j *jumpHost) dial(ctx context.Context, address string) (net.Conn, error) {
	type answer struct {
		conn net.Conn
		err  error
	}
	answers := make(chan answer, 1)
	j.conn.running.Go(func() {
		conn, err := j.conn.client.Dial("tcp", address)
		answers <- answer{conn, err}
	})
	select {
	case a := <-answers:
		if a.err != nil {
			return nil, &jumpError{jump: j.name, err: a.err}
		}
		return &forwarded{Conn: a.conn, jump: j, address: address}, nil
	case <-ctx.Done():
		j.conn.running.Go(func() {
			if a := <-answers; a.conn != nil {
				a.conn.Close()
			}
		})
		return nil, context.Cause(ctx)
	}
}

// jumpError is why a jump host did not connect to another.
type jumpError struct {
	jump string
	err  error
}

func (e *jumpError) Error() string {
	refused, ok := errors.AsType[*ssh.OpenChannelError](e.err)
	switch {
	case !ok:
		return fmt.Sprintf("the connection to jump host %s broke: %v", e.jump, e.err)
	case refused.Reason == ssh.Prohibited:
		return fmt.Sprintf("jump host %s does not forward connections (AllowTcpForwarding, PermitOpen): %s", e.jump, refused.Message)
	}
	return fmt.Sprintf("jump host %s could not connect: %s", e.jump, refused.Message)
}

func (e *jumpError) Unwrap() error { return e.err }

// worth says how long it is worth trying again.
func (e *jumpError) worth() time.Duration {
	refused, ok := errors.AsType[*ssh.OpenChannelError](e.err)
	switch {
	case !ok:
		return droppedFor
	case refused.Reason != ssh.ConnectionFailed:
		return 0
	case strings.Contains(refused.Message, "refused"):
		return refusedFor
	}
	return unresolvedFor
}

// forwarded is a connection through a jump host.
type forwarded struct {
	net.Conn
	jump    *jumpHost
	address string
	closing sync.Once
	reading sync.Mutex // held by the one reader: of two, x/crypto would wake one
}

// stuckFor is how long the end of a forwarded connection may take. It needs
// room on the connection to the jump host, and then that host's answer. Where
// neither comes, the network is gone, and with it all that is forwarded.
const stuckFor = 2 * time.Second

// Close ends the connection and does not wait for the jump host's word of it,
// without which nothing that waits for the connection returns.
func (f *forwarded) Close() error {
	f.closing.Do(func() {
		f.jump.conn.running.Go(func() {
			timer := time.AfterFunc(stuckFor, func() { f.jump.conn.raw.Close() })
			defer timer.Stop()
			f.Conn.Close()
			io.Copy(io.Discard, f)
		})
	})
	return nil
}

func (f *forwarded) Read(p []byte) (int, error) {
	f.reading.Lock()
	defer f.reading.Unlock()
	return f.Conn.Read(p)
}

func (f *forwarded) LocalAddr() net.Addr  { return namedAddr("") }
func (f *forwarded) RemoteAddr() net.Addr { return namedAddr(f.address) }

// namedAddr is the far end of a connection that somebody else made: a name, or
// an address, and a port.
type namedAddr string

func (a namedAddr) Network() string { return "tcp" }
func (a namedAddr) String() string  { return string(a) }
