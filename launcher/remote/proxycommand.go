package remote

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"
)

// proxyConn is a connection through a ProxyCommand.
type proxyConn struct {
	*tunnel
	command string
	remote  namedAddr
	stderr  *excerpt
}

// startProxyCommand runs the command as OpenSSH does, by the user's shell, which
// it replaces so that the process that is ended is the command itself.
func (s *settings) startProxyCommand() (net.Conn, error) {
	shell := cmp.Or(os.Getenv("SHELL"), "/bin/sh")
	c := &proxyConn{command: s.ProxyCommand, remote: namedAddr(s.address()), stderr: &excerpt{}}
	var err error
	if c.tunnel, err = startTunnel([]string{shell, "-c", "exec " + s.ProxyCommand}, c.stderr); err != nil {
		return nil, fmt.Errorf("ProxyCommand %s: %w", s.ProxyCommand, err)
	}
	return c, nil
}

// failure says how the command ended that cut a connection short, closing the
// connection.
func (c *proxyConn) failure() *failure {
	c.Close()
	f := &failure{step: StepDial, worth: droppedFor} // unless it says otherwise, the server hung up
	text := "closed the connection"
	if exit, ok := errors.AsType[*ExitError](c.Wait()); ok {
		text = "ended with " + exit.Error()
		if exit.Signal != "" {
			text = "was " + exit.Error()
		}
		f.worth = refusedFor
		if exit.Status == 126 || exit.Status == 127 { // what shells say of a command that they cannot start
			f.worth = 0
		}
	}
	if said := c.stderr.text(); said != "" {
		text += fmt.Sprintf(", saying %q", said)
	}
	f.err = fmt.Errorf("ProxyCommand %s %s", c.command, text)
	return f
}

func (c *proxyConn) LocalAddr() net.Addr                { return namedAddr("") }
func (c *proxyConn) RemoteAddr() net.Addr               { return c.remote }
func (c *proxyConn) SetDeadline(t time.Time) error      { return errors.ErrUnsupported }
func (c *proxyConn) SetReadDeadline(t time.Time) error  { return errors.ErrUnsupported }
func (c *proxyConn) SetWriteDeadline(t time.Time) error { return errors.ErrUnsupported }

// excerpt keeps the last that a program wrote to its standard error.
type excerpt struct {
	mu   sync.Mutex
	last tail
}

func (e *excerpt) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.last.Write(p)
}

func (e *excerpt) text() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.last.text()
}
