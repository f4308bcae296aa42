package remote

import (
	"context"
	"errors"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
)

// A live master connection of OpenSSH's (ControlMaster, ControlPath) carries our
// session too, without another authentication: the user has typed the code, or
// touched the key, once in the morning. Its socket speaks SSH's own channels in
// proxy mode (OpenSSH's PROTOCOL.mux, section 2).

// masterPatience is how long a master may take to answer. One that hangs, as
// behind a network that is gone, is passed by.
const masterPatience = 2 * time.Second

// setControl fills in where the socket of a master may be.
func (s *settings) setControl(e *evaluation, t tokens, u localUser) error {
	path := e.first("controlpath")
	switch strings.ToLower(e.first("controlmaster")) {
	case "yes", "true", "ask":
		return nil // says that a new master is wanted, not that one be used
	}
	if path == "" || strings.EqualFold(path, "none") {
		return nil
	}
	// Since OpenSSH 9.6 the hash %C has the jump host in it.
	jump := ""
	if e.proxy == "proxyjump" {
		jump = e.first("proxyjump")
	}
	for _, j := range []string{"", jump} {
		path, err := t.with('j', j).expand("ControlPath", path)
		if err != nil {
			return err
		}
		if path = u.expandHome(path); !slices.Contains(s.ControlPaths, path) {
			s.ControlPaths = append(s.ControlPaths, path)
		}
	}
	return nil
}

// dialMaster returns a connection through a live master, or nil if there is
// none.
func (d *Dialer) dialMaster(ctx context.Context, s *settings) *Conn {
	ctx, cancel := context.WithTimeout(ctx, masterPatience)
	defer cancel()
	for _, path := range s.ControlPaths {
		c, err := d.dialControl(ctx, s, path)
		if err == nil {
			d.log.Info("the login goes over a master connection of ssh", "host", s.Name, "socket", path)
			return c
		}
		if !errors.Is(err, os.ErrNotExist) {
			d.log.Info("the master connection of ssh is not used", "host", s.Name, "socket", path, "error", err)
		}
	}
	return nil
}

func (d *Dialer) dialControl(ctx context.Context, s *settings, path string) (*Conn, error) {
	var dialer net.Dialer
	raw, err := dialer.DialContext(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { raw.Close() })
	conn, channels, requests, err := ssh.NewControlClientConn(raw)
	if err == nil && !stop() {
		conn.Close()
		err = context.Cause(ctx)
	}
	if err != nil {
		raw.Close()
		return nil, err
	}
	return newConn(s.Name, raw, ssh.NewClient(conn, channels, requests), d.log, func() {}), nil
}
