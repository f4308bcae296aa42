package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/gorun/gorun/hostfiles"
)

// settings is how to log in to one host, from all sources.
type settings struct {
	Name     string // as written in the host list
	HostName string // the name or address to connect to
	Port     int
	User     string

	Network        string        // for net.Dialer: tcp, tcp4, tcp6
	BindAddress    string        // "": any
	Jump           *settings     // the host to go through; nil: none
	ProxyCommand   string        // the command to go through, for a shell; "": none
	ControlPaths   []string      // where a master connection of ssh may be had
	AliveInterval  time.Duration // between signs of life; 0: none
	AliveCount     int           // of them that may be missing
	ConnectTimeout time.Duration // for connecting and key exchange; 0: none

	Keys           []keyFile
	IdentitiesOnly bool     // use no keys of the agent but those of Keys
	Certificates   []string // for any of the keys, beside those next to the keys
	Agent          string   // socket; "": none

	Cryptography cryptography

	Unsupported string   // the directive that decides how to log in and that we do not act on; "": none
	Batch       bool     // ask nothing
	Methods     []string // of authentication that may be used, in order
	Prompts     int      // how often a server's question is answered
	GSSAPI      bool     // Kerberos may log in
	HostBased   bool     // this host's key may

	KnownHosts     []string // the user's files, of which the first gets new keys, then the system's
	NewKnownHosts  string   // where new keys go; "": nowhere
	HostKeyAlias   string
	HashKnownHosts bool
	AcceptNew      bool
}

// resolve finds out how to log in to h, and to the hosts on the way. Port and
// key of the flags are the job's hosts' only: a jump host has its own.
func (d *Dialer) resolve(ctx context.Context, h hostfiles.Host) (*settings, error) {
	return d.settle(ctx, request{
		name: h.Name, user: h.User,
		port: cmp.Or(h.Port, d.conf.Port),
		keys: []string{h.Key, d.conf.Key},
		jump: cmp.Or(h.Jump, d.conf.Jump),
	}, nil)
}

// settle is resolve for a host on the way to others, the target first.
func (d *Dialer) settle(ctx context.Context, r request, behind []*settings) (*settings, error) {
	if r.name == "" {
		return nil, errors.New("expected a host name, found none")
	}
	e, err := evaluate(d.files, r.name, r.user, d.local)
	if err == nil && e.undecided != "" {
		e, err = d.askSSH(ctx, r, e.undecided)
	}
	if err != nil {
		return nil, err
	}
	return d.settleBy(ctx, e, r, behind)
}

// settleBy is settle with what the configuration says.
func (d *Dialer) settleBy(ctx context.Context, e *evaluation, r request, behind []*settings) (*settings, error) {
	if why := e.raw("refuseconnection"); why != "" {
		return nil, fmt.Errorf("%s: RefuseConnection: %s", e.pos("refuseconnection"), why)
	}
	s := &settings{Name: r.name, User: e.userName(), HostKeyAlias: e.first("hostkeyalias")}
	if err := s.setAddress(e, r.port); err != nil {
		return nil, err
	}
	if err := refuseLoop(s, behind); err != nil {
		return nil, err
	}
	if err := d.setProxy(ctx, s, e, r, behind); err != nil {
		return nil, err
	}
	t := s.tokens(d.local)
	var err error
	if s.KnownHosts, s.NewKnownHosts, err = knownHostsFiles(e, t, d.local); err != nil {
		return nil, err
	}
	s.HashKnownHosts = isYes(e.first("hashknownhosts"))
	if s.AcceptNew, err = d.acceptsNewKeys(e); err != nil {
		return nil, err
	}
	s.IdentitiesOnly = isYes(e.first("identitiesonly"))
	if s.Keys, err = keyFiles(e, t, d.local, r.keys); err != nil {
		return nil, err
	}
	for _, path := range e.each("certificatefile") {
		if path, err = t.expand("CertificateFile", path); err != nil {
			return nil, err
		}
		s.Certificates = append(s.Certificates, d.local.expandHome(path))
	}
	if s.Agent, err = d.agentSocket(e, t); err != nil {
		return nil, err
	}
	s.GSSAPI, s.HostBased = isYes(e.first("gssapiauthentication")), isYes(e.first("hostbasedauthentication"))
	s.Unsupported = unsupported(e)
	if err := s.setCryptography(e); err != nil {
		return nil, err
	}
	if err := s.setControl(e, t, d.local); err != nil {
		return nil, err
	}
	if err := s.setMethods(e); err != nil {
		return nil, err
	}
	return s, nil
}

// setAddress fills in where to connect and how.
func (s *settings) setAddress(e *evaluation, port int) error {
	s.HostName = e.hostName()
	if _, err := netip.ParseAddr(s.HostName); err != nil { // an address may have a zone, which heeds case
		s.HostName = strings.ToLower(s.HostName)
	}
	s.Port = 22
	switch {
	case port != 0:
		s.Port = port
	case e.first("port") != "":
		n, err := strconv.Atoi(e.first("port"))
		if err != nil || n < 1 || n > 65535 {
			return fmt.Errorf("%s: Port: expected 1 to 65535, found %q", e.pos("port"), e.first("port"))
		}
		s.Port = n
	}
	switch v := e.first("addressfamily"); strings.ToLower(v) {
	case "", "any":
		s.Network = "tcp"
	case "inet":
		s.Network = "tcp4"
	case "inet6":
		s.Network = "tcp6"
	default:
		return fmt.Errorf("%s: AddressFamily: expected any, inet or inet6, found %q", e.pos("addressfamily"), v)
	}
	s.BindAddress = e.first("bindaddress")
	if v := e.first("connecttimeout"); v != "" && !strings.EqualFold(v, "none") {
		timeout, err := parseTime(v)
		if err != nil {
			return fmt.Errorf("%s: ConnectTimeout: %w", e.pos("connecttimeout"), err)
		}
		s.ConnectTimeout = timeout
	}
	return s.setAlive(e)
}

// setAlive fills in how the server is watched.
func (s *settings) setAlive(e *evaluation) (err error) {
	if v := e.first("serveraliveinterval"); v != "" {
		if s.AliveInterval, err = parseTime(v); err != nil {
			return fmt.Errorf("%s: ServerAliveInterval: %w", e.pos("serveraliveinterval"), err)
		}
	}
	s.AliveCount = 3 // OpenSSH's default
	if v := e.first("serveralivecountmax"); v != "" {
		if s.AliveCount, err = strconv.Atoi(v); err != nil || s.AliveCount < 0 {
			return fmt.Errorf("%s: ServerAliveCountMax: expected a number, found %q", e.pos("serveralivecountmax"), v)
		}
	}
	return nil
}

func isNo(v string) bool  { return strings.EqualFold(v, "no") || strings.EqualFold(v, "false") }
func isYes(v string) bool { return strings.EqualFold(v, "yes") || strings.EqualFold(v, "true") }

// parseTime reads a time as sshd_config(5), section TIME FORMATS, has it:
// seconds, or numbers with units as in 1h30m.
func parseTime(s string) (time.Duration, error) {
	units := map[byte]time.Duration{
		's': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour, 'w': 7 * 24 * time.Hour,
	}
	bad := fmt.Errorf("expected a time such as 10 or 1m30s, found %q", s)
	var total time.Duration
	for rest := strings.ToLower(s); rest != ""; {
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		n, err := strconv.ParseInt(rest[:digits], 10, 32)
		if err != nil {
			return 0, bad
		}
		unit := time.Second
		if rest = rest[digits:]; rest != "" {
			var ok bool
			if unit, ok = units[rest[0]]; !ok {
				return 0, bad
			}
			rest = rest[1:]
		}
		if n > int64((1<<63-1-total)/unit) {
			return 0, bad
		}
		total += time.Duration(n) * unit
	}
	return total, nil
}
