package remote

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"sync"

	"golang.org/x/crypto/ssh"
)

// Conn is a login on a host. It carries one command.
type Conn struct {
	host   string
	raw    net.Conn // under client
	client *ssh.Client
	log    *slog.Logger

	// Where a program logs in when a command is started, these instead of raw
	// and client.
	dialer *Dialer
	rsh    *rsh
	words  []string

	local, remote netip.AddrPort

	ended   chan struct{}  // closed when the connection has ended
	running sync.WaitGroup // what uses client in the background
	left    func()         // called once when nothing uses the connection's way any more
}

func newConn(host string, raw net.Conn, client *ssh.Client, log *slog.Logger, left func()) *Conn {
	c := &Conn{host: host, raw: raw, client: client, log: log, ended: make(chan struct{}), left: sync.OnceFunc(left)}
	c.local, c.remote = addrPort(raw.LocalAddr()), addrPort(raw.RemoteAddr())
	c.running.Go(func() {
		client.Wait()
		close(c.ended)
	})
	return c
}

// isEnded says whether the connection has ended.
func (c *Conn) isEnded() bool {
	select {
	case <-c.ended:
		return true
	default:
		return false
	}
}

// Host returns the host's name as written in the host list.
func (c *Conn) Host() string { return c.host }

// LocalAddr and RemoteAddr return the ends of the TCP connection: the address
// of this host on the way to that one, and the address at which it was
// reached. Where something else made the connection, such as a jump host, the
// first is zero, and so is the second until StartAgent has returned: then it is
// the address at which the host says that it was reached.
func (c *Conn) LocalAddr() netip.AddrPort  { return c.local }
func (c *Conn) RemoteAddr() netip.AddrPort { return c.remote }

func addrPort(a net.Addr) netip.AddrPort {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.AddrPort{}
	}
	ap := tcp.AddrPort()
	return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port())
}

// Close ends the connection at once and waits for its goroutines. Nothing is
// sent that would need a network, but for the end of the TCP connection, which
// the kernel sends. It may be repeated.
func (c *Conn) Close() error {
	if c.client == nil {
		return nil // its stream is all there is of it
	}
	err := c.client.Close()
	c.running.Wait()
	c.left()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// start runs a command line in the user's login shell. What it writes to
// standard error goes to stderr, which must not block for long: it would hold
// up standard output. Closing the stream closes c.
func (c *Conn) start(command string, stderr io.Writer) (*session, error) {
	s, err := c.client.NewSession()
	if err != nil {
		return nil, fmt.Errorf("open a session: %w", err)
	}
	s.Stderr = stderr
	stdin, err := s.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := s.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.Start(command); err != nil {
		return nil, fmt.Errorf("the server does not run commands for this user: %w", err)
	}
	return &session{
		Reader: stdout,
		stdin:  stdin,
		conn:   c,
		wait:   sync.OnceValue(func() error { return exitError(s.Wait()) }),
	}, nil
}

// session is the Stream of a command on a Conn.
type session struct {
	io.Reader
	stdin io.WriteCloser
	conn  *Conn
	wait  func() error
}

func (s *session) Write(p []byte) (int, error) { return s.stdin.Write(p) }

func (s *session) CloseWrite() error {
	if err := s.stdin.Close(); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

func (s *session) Close() error { return s.conn.Close() }

func (s *session) Wait() error { return s.wait() }

// exitError turns x/crypto's account of a command's end into ours.
func exitError(err error) error {
	if exit, ok := errors.AsType[*ssh.ExitError](err); ok {
		return &ExitError{Status: exit.ExitStatus(), Signal: exit.Signal()}
	}
	if errors.As(err, new(*ssh.ExitMissingError)) {
		return errors.New("the connection ended before the command did")
	}
	return err
}
