package remote

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"slices"
	"sync"

	"github.com/gorun/gorun/hostfiles"
)

// SSH is how to log in. The zero SSH does what ssh_config says, and asks
// nothing.
//
// What is said in several places is taken from the first of: the host list's
// entry (user=, port=, key=, jump=), the fields of SSH, ssh_config, OpenSSH's
// defaults.
type SSH struct {
	Port   int    // ssh's -p, which jump hosts ignore; 0: as configured, else 22
	Key    string // ssh's -i, which jump hosts ignore: a private key tried before the configured ones
	Jump   string // ssh's -J: "a,b" goes through a, then b, to every host; "none": directly, whatever ssh_config says
	Config string // ssh's -F: read instead of the user's and the system's files; "none": no file
	Agent  string // the signing agent's socket; "": as configured, else $SSH_AUTH_SOCK; "none": no agent

	// Rsh is the command that logs in, instead of this package: split into words
	// as a shell would, {host}, {user} and {port} replaced, the host added where
	// it is not in it, and then, as one word, a command for a shell there. To ssh,
	// told by its name, the other fields and the host's entry go as options,
	// behind those that are there; other programs hear of nothing else.
	Rsh string

	// AcceptNewHostKeys stores the keys of hosts that known_hosts does not
	// have, as StrictHostKeyChecking=accept-new does. A key that differs from
	// the stored one is refused all the same.
	AcceptNewHostKeys bool

	// Prompt asks the user and returns the answer, which is cleared after use. Of
	// a key's passphrase it is called for one host at a time, at most three times,
	// and only when a server would accept the key; of what servers ask for, for
	// several hosts at once. nil: encrypted keys work through the agent only, and
	// servers are not answered.
	Prompt func(ctx context.Context, q Question) ([]byte, error)

	// Warn tells the user what was asked for by a field of SSH or a host's entry
	// and could not be done, though hosts may let the user in all the same, or
	// that another program logs in, which may be waiting for a touch. Each text
	// comes once; it may be called for several hosts at once. nil: nobody is told.
	Warn func(text string)

	Log *slog.Logger // what servers and shells say, what is tried again; nil: silent
}

// Question is what a locked key or a server wants to know of the user.
type Question struct {
	Host string // whose login it is about, as written in the host list
	Text string // on one line, without control characters
	Echo bool   // the answer is no secret
}

// Dialer logs in to hosts. It reads configuration, known hosts and keys once
// and keeps them for all its connections. Safe for concurrent use.
type Dialer struct {
	conf     SSH
	log      *slog.Logger
	local    localUser
	files    [][]directive // the user's ssh_config, the system's
	rsh      *rsh          // what logs in instead; nil: this package
	resolver *net.Resolver // of host names; nil: Go's
	logins   chan struct{} // a token for each login in flight
	asking   chan struct{} // the one token of programs that may ask the user

	mu     sync.Mutex
	known  map[string]*hostKeys // by the names of the known_hosts files
	keys   map[string]*identity // by path
	agents map[string]*signingAgent
	jumps  map[string]*jumpHost // by way
	warned map[string]bool      // texts of warnings

	jumping sync.WaitGroup // logins on jump hosts
}

// maxLogins bounds the logins in flight. More are no faster, the server's side
// and ours being bound by arithmetic, and a host that serves many entries of
// the list would drop them.
const maxLogins = 32

// NewDialer reads the SSH configuration files. The caller closes the Dialer
// when no login is going on any more; connections outlive it.
func NewDialer(conf SSH) (*Dialer, error) {
	d := &Dialer{
		conf:   conf,
		log:    conf.Log,
		logins: make(chan struct{}, maxLogins),
		asking: make(chan struct{}, 1),
		known:  map[string]*hostKeys{},
		keys:   map[string]*identity{},
		agents: map[string]*signingAgent{},
		jumps:  map[string]*jumpHost{},
		warned: map[string]bool{},
	}
	if d.log == nil {
		d.log = slog.New(slog.DiscardHandler)
		d.conf.Log = d.log
	}
	if conf.Port < 0 || conf.Port > 65535 {
		return nil, fmt.Errorf("ssh port: expected 1 to 65535, found %d", conf.Port)
	}
	err := checkJump(conf.Jump)
	if err != nil {
		return nil, fmt.Errorf("-J %s: %w", conf.Jump, err)
	}
	if d.local, err = currentUser(); err != nil {
		return nil, err
	}
	if conf.Rsh != "" {
		d.rsh, err = parseRsh(conf.Rsh)
		return d, err
	}
	d.files, err = readConfigFiles(conf.Config, d.local)
	return d, err
}

// warn tells the user, once.
func (d *Dialer) warn(text string) {
	d.mu.Lock()
	known := d.warned[text]
	d.warned[text] = true
	d.mu.Unlock()
	if !known && d.conf.Warn != nil {
		d.conf.Warn(text)
	}
}

// Close ends the connections to signing agents, and those to jump hosts that
// nothing goes through.
func (d *Dialer) Close() error {
	d.mu.Lock()
	jumps := slices.Collect(maps.Values(d.jumps))
	clear(d.jumps)
	d.mu.Unlock()
	for _, j := range jumps {
		d.leave(j)
	}
	d.jumping.Wait()

	d.mu.Lock()
	defer d.mu.Unlock()
	for _, a := range d.agents {
		a.close()
	}
	clear(d.agents)
	return nil
}

// Check refuses what is wrong with h and can be known without asking anybody.
func (d *Dialer) Check(h hostfiles.Host) error {
	if d.rsh != nil {
		_, err := d.rsh.login(h, d.conf, d.local.name)
		return err
	}
	if err := checkJump(h.Jump); err != nil {
		return fmt.Errorf("jump=%s of %s: %w", h.Jump, h.Name, err)
	}
	_, err := evaluate(d.files, h.Name, h.User, d.local)
	return err
}

// Dial connects to h and logs in. It blocks until that is done, has failed for
// good, or ctx ends; ctx bounds the whole of it, TCP and key exchange too.
// Every error is an *Error; *HostKeyError and *AuthError are inside those of
// StepLogin. At most 32 Dials of a Dialer log in at the same time, not
// counting those that have waited for their server for some seconds.
//
// A jump host, of whichever of h, d and ssh_config, is logged in to as ssh_config
// says of it, once for all hosts behind it. A ProxyCommand is run by the user's
// shell and ends with the connection.
//
// What only OpenSSH can do, such as to sign with a security key, makes its ssh
// log in: SSH.Warn is told why. That happens when StartAgent is called.
func (d *Dialer) Dial(ctx context.Context, h hostfiles.Host) (*Conn, error) {
	if d.rsh != nil {
		return d.dialRsh(h, d.rsh)
	}
	s, err := d.resolve(ctx, h)
	if err != nil {
		return nil, &Error{Host: h.Name, Step: StepDial, Err: err}
	}
	if why := s.beyondUs(); why != "" {
		return d.dialSystem(h, why, true)
	}
	c, err := d.login(ctx, s, nil)
	if auth, ok := errors.AsType[*AuthError](err); ok {
		return d.retryWithSystem(ctx, h, auth, err)
	}
	return c, err
}
