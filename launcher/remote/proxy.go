package remote

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
)

// A host that cannot be reached directly is reached through others, by
// ProxyJump, or through a command of the user's, by ProxyCommand. Of the two the
// one that is said first counts (ssh_config(5)).

// maxJumps bounds a way. Names that are made by tokens could grow for ever.
const maxJumps = 16

// request is a host to log in to, and what is said of it outside ssh_config.
type request struct {
	name, user string
	port       int      // 0: as configured
	keys       []string // to be tried before the configured ones
	jump       string   // as ProxyJump; "": as configured
}

// setProxy fills in the way to the host: directly, through jump hosts, or
// through a command. behind are the hosts that this one is on the way to.
func (d *Dialer) setProxy(ctx context.Context, s *settings, e *evaluation, r request, behind []*settings) error {
	jump, from := r.jump, "jump host"
	switch {
	case jump != "":
	case e.proxy == "proxycommand":
		return s.setProxyCommand(e, d.local)
	case e.proxy == "proxyjump":
		jump, from = e.first("proxyjump"), e.pos("proxyjump")+": ProxyJump"
	}
	if jump == "" || strings.EqualFold(jump, "none") {
		return nil
	}
	jump, err := s.tokens(d.local).expand("ProxyJump", jump)
	if err != nil {
		return err
	}
	// The last of the list is next to the host; those before it lead there.
	before, last := "", jump
	if comma := strings.LastIndexByte(jump, ','); comma >= 0 {
		before, last = jump[:comma], jump[comma+1:]
	}
	hop, err := parseJump(last)
	if err != nil {
		return fmt.Errorf("%s %s: %w", from, jump, err)
	}
	hop.jump = before
	behind = append(behind[:len(behind):len(behind)], s)
	if s.Jump, err = d.settle(ctx, hop, behind); err != nil {
		return fmt.Errorf("%s %s: %w", from, last, err)
	}
	return nil
}

// refuseLoop says whether s is on the way to itself.
func refuseLoop(s *settings, behind []*settings) error {
	names := []string{s.Name}
	for i := len(behind) - 1; i >= 0; i-- {
		names = append(names, behind[i].Name)
		if behind[i].login() == s.login() {
			return fmt.Errorf("the way to %s leads through itself (%s); jump=none, or ProxyJump none, reaches it directly",
				s.login(), strings.Join(names, " → "))
		}
	}
	if len(behind) > maxJumps {
		return fmt.Errorf("more than %d jump hosts on the way to %s", maxJumps, behind[0].Name)
	}
	return nil
}

// login names whom s logs in as, and where.
func (s *settings) login() string { return s.User + "@" + s.address() }

// address returns where to connect, as net.Dial takes it.
func (s *settings) address() string { return net.JoinHostPort(s.HostName, strconv.Itoa(s.Port)) }

// checkJump refuses a list of jump hosts that cannot be read.
func checkJump(list string) error {
	if list == "" {
		return nil
	}
	for hop := range strings.SplitSeq(list, ",") {
		if _, err := parseJump(hop); err != nil {
			return err
		}
	}
	return nil
}

// parseJump reads [user@]host[:port] or an ssh:// URI of the same.
func parseJump(text string) (request, error) {
	var r request
	rest := strings.TrimSpace(text)
	rest = strings.TrimSuffix(strings.TrimPrefix(rest, "ssh://"), "/")
	// As in ssh, the last @ counts: a user may have one in the name.
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		r.user, rest = rest[:at], rest[at+1:]
		if r.user == "" {
			return r, errors.New(`expected the name of a user before "@"`)
		}
	}
	r.name = rest
	var port string
	var hasPort bool
	switch {
	case strings.HasPrefix(rest, "["):
		name, behind, ok := strings.Cut(rest[1:], "]")
		if !ok {
			return r, errors.New(`expected "]" after an address in brackets`)
		}
		r.name = name
		if port, hasPort = strings.CutPrefix(behind, ":"); behind != "" && !hasPort {
			return r, fmt.Errorf(`expected ":PORT" or nothing after "]", found %q`, behind)
		}
	case strings.Count(rest, ":") == 1: // with more it is an address
		r.name, port, hasPort = strings.Cut(rest, ":")
	}
	if r.name == "" || strings.HasPrefix(r.name, "-") {
		return r, fmt.Errorf("expected [user@]host[:port], found %q", text)
	}
	if !hasPort {
		return r, nil
	}
	n, err := strconv.Atoi(port)
	if err != nil || n < 1 || n > 65535 {
		return r, fmt.Errorf("expected a port from 1 to 65535, found %q", port)
	}
	r.port = n
	return r, nil
}

// setProxyCommand fills in the command that leads to the host.
func (s *settings) setProxyCommand(e *evaluation, u localUser) error {
	command := e.raw("proxycommand")
	if strings.EqualFold(command, "none") {
		return nil
	}
	if isYes(e.first("proxyusefdpass")) {
		return fmt.Errorf("%s: ProxyUseFdpass is not supported: only a command whose standard streams are the connection can be used; "+
			"--rsh ssh logs in with the system's ssh, which knows it", e.pos("proxyusefdpass"))
	}
	var err error
	if s.ProxyCommand, err = s.tokens(u).expand("ProxyCommand", command); err != nil {
		return fmt.Errorf("%s: %w", e.pos("proxycommand"), err)
	}
	return nil
}
