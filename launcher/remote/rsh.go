package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gorun/gorun/hostfiles"
	"github.com/gorun/gorun/internal/shellwords"
)

// rsh is a program that logs in and runs a command, whose streams are then its
// own: what the user gave as --rsh, or the system's ssh where only that can log
// in. The command that it runs is the one that our own logins run.
type rsh struct {
	words []string // as the user gave them; {host}, {user} and {port} stand for what they say
	asks  bool     // it may have to ask the user, so one logs in after the other
	extra []string // more options of ssh
}

// parseRsh reads the value of --rsh.
func parseRsh(template string) (*rsh, error) {
	words, err := shellwords.Command(template)
	switch {
	case err == nil && len(words) == 0:
		err = errors.New("expected a command, found none")
	case err == nil:
		_, err = exec.LookPath(words[0])
	}
	if err != nil {
		return nil, fmt.Errorf("--rsh %s: %w", template, err)
	}
	for _, word := range words {
		for rest := word; ; {
			_, from, ok := strings.Cut(rest, "{")
			if !ok {
				break
			}
			name, behind, ok := strings.Cut(from, "}")
			if ok && !slices.Contains([]string{"host", "user", "port"}, name) {
				return nil, fmt.Errorf("--rsh %s: expected {host}, {user} or {port}, found {%s}", template, name)
			}
			rest = behind
		}
	}
	return &rsh{words: words}, nil
}

// isSSH says whether the program takes ssh's options.
func (r *rsh) isSSH() bool { return filepath.Base(r.words[0]) == "ssh" }

// has says whether a word of the template has the placeholder.
func (r *rsh) has(placeholder string) bool {
	return slices.ContainsFunc(r.words, func(w string) bool { return strings.Contains(w, placeholder) })
}

// login returns the words that log in to h, to which a command is to be added
// as the last. What the user wrote stays as it is and comes first, which of two
// values makes ssh take the user's.
func (r *rsh) login(h hostfiles.Host, conf SSH, self string) ([]string, error) {
	user := cmp.Or(h.User, self)
	port := cmp.Or(h.Port, conf.Port, 22)
	fill := strings.NewReplacer("{host}", h.Name, "{user}", user, "{port}", strconv.Itoa(port))
	if strings.HasPrefix(h.Name, "-") {
		return nil, fmt.Errorf("a host cannot be called %q", h.Name)
	}
	words := make([]string, len(r.words))
	for i, word := range r.words {
		words[i] = fill.Replace(word)
	}
	var options []string
	if r.isSSH() {
		options = r.sshOptions(h, conf)
	} else if err := r.refuse(h, conf); err != nil {
		return nil, err
	}
	if !r.has("{host}") {
		return append(append(words, options...), h.Name), nil
	}
	at := slices.IndexFunc(r.words, func(w string) bool { return strings.Contains(w, "{host}") })
	return slices.Insert(words, at, options...), nil
}

// sshOptions returns what the host's entry and the flags say, as ssh's options,
// and what our use of it needs.
func (r *rsh) sshOptions(h hostfiles.Host, conf SSH) []string {
	// No terminal there, no command or forwarding of the configuration's.
	options := []string{"-T", "-o", "RemoteCommand=none", "-o", "ClearAllForwardings=yes"}
	option := func(name, value string) {
		if value != "" {
			options = append(options, name, value)
		}
	}
	if port := cmp.Or(h.Port, conf.Port); port != 0 && !r.has("{port}") {
		option("-p", strconv.Itoa(port))
	}
	if !r.has("{user}") {
		option("-l", h.User)
	}
	option("-i", h.Key)
	option("-i", conf.Key)
	option("-J", cmp.Or(h.Jump, conf.Jump))
	option("-F", conf.Config)
	if conf.Agent != "" {
		option("-o", "IdentityAgent="+conf.Agent)
	}
	if conf.AcceptNewHostKeys {
		option("-o", "StrictHostKeyChecking=accept-new")
	}
	if conf.Prompt == nil {
		option("-o", "BatchMode=yes")
	}
	return append(options, r.extra...)
}

// refuse says what of the host's entry and the flags a program that is not ssh
// would not hear of.
func (r *rsh) refuse(h hostfiles.Host, conf SSH) error {
	for _, lost := range []struct {
		what        string
		set         bool
		placeholder string
	}{
		{"port=" + strconv.Itoa(h.Port), h.Port != 0, "{port}"},
		{"-p " + strconv.Itoa(conf.Port), conf.Port != 0, "{port}"},
		{"user=" + h.User, h.User != "", "{user}"},
		{"key=" + h.Key, h.Key != "", ""},
		{"-i " + conf.Key, conf.Key != "", ""},
		{"jump=" + h.Jump, h.Jump != "", ""},
		{"-J " + conf.Jump, conf.Jump != "", ""},
	} {
		switch {
		case !lost.set, lost.placeholder != "" && r.has(lost.placeholder):
		case lost.placeholder != "":
			return fmt.Errorf("--rsh %s would not hear of %s: put %s into it", r.words[0], lost.what, lost.placeholder)
		default:
			return fmt.Errorf("--rsh %s would not hear of %s: say the same in its own options", r.words[0], lost.what)
		}
	}
	return nil
}

// dialSystem is dialRsh with the system's ssh, which alone can log in to h, for
// the reason why. asks says that it may ask the user for something.
func (d *Dialer) dialSystem(h hostfiles.Host, why string, asks bool, extra ...string) (*Conn, error) {
	c, err := d.dialRsh(h, &rsh{words: []string{"ssh"}, asks: asks, extra: extra})
	if errors.Is(err, exec.ErrNotFound) {
		return nil, &Error{Host: h.Name, Step: StepLogin, Err: fmt.Errorf("%s: only OpenSSH's ssh can do that, and there is none in PATH", why)}
	}
	if err == nil {
		d.warn(why + ": " + c.words[0] + " logs in instead of gorun itself")
	}
	return c, err
}

// dialRsh returns the Conn of a host that r is to log in to, which it does when
// the agent is started.
func (d *Dialer) dialRsh(h hostfiles.Host, r *rsh) (*Conn, error) {
	words, err := r.login(h, d.conf, d.local.name)
	if err == nil {
		words[0], err = exec.LookPath(words[0])
	}
	if err != nil {
		return nil, &Error{Host: h.Name, Step: StepDial, Err: err}
	}
	return &Conn{host: h.Name, log: d.log, dialer: d, rsh: r, words: words}, nil
}

// startRsh runs a command line on the host.
func (c *Conn) startRsh(command string, stderr io.Writer) (Stream, error) {
	t, err := startTunnel(append(slices.Clone(c.words), command), stderr)
	if err != nil {
		return nil, err
	}
	return &rshStream{t, c.rsh}, nil
}

// startAgentByRsh starts p on the host, again where the server drops logins.
func (c *Conn) startAgentByRsh(ctx context.Context, p *Program, start Start) (*booted, error) {
	began := time.Now()
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		s, err := c.tryRsh(ctx, p, start)
		failed, ok := errors.AsType[*rshError](err)
		if !ok || !failed.isDropped() || time.Since(began) > droppedFor {
			return s, err
		}
		c.log.Info("login is tried again", "host", c.host, "step", StepLogin, "error", err)
		if wait(ctx, pause/2+rand.N(pause/2)); ctx.Err() != nil {
			return nil, err
		}
	}
}

func (c *Conn) tryRsh(ctx context.Context, p *Program, start Start) (*booted, error) {
	release, err := c.turn(ctx)
	if err != nil {
		return nil, &Error{Host: c.host, Step: StepLogin, Err: because(ctx, err)}
	}
	defer release()
	return p.boot(ctx, c.host, start, c.startRsh)
}

// turn waits until a program may log in. One that may ask the user lets no
// other begin before it is done, however long the user takes.
func (c *Conn) turn(ctx context.Context) (release func(), err error) {
	if !c.rsh.asks {
		return takeToken(ctx, c.dialer.logins)
	}
	select {
	case c.dialer.asking <- struct{}{}:
		return func() { <-c.dialer.asking }, nil
	case <-ctx.Done():
		return nil, errWaiting
	}
}

// rshStream is the stream of a command that an rsh runs.
type rshStream struct {
	*tunnel
	rsh *rsh
}

// sshFailed is the status of ssh when it failed itself, or was cut off. A
// command that ends with it is not told from that.
const sshFailed = 255

func (s *rshStream) Wait() error {
	err := s.tunnel.Wait()
	if exit, ok := errors.AsType[*ExitError](err); ok && exit.Status == sshFailed && s.rsh.isSSH() {
		return &rshError{program: s.rsh.words[0]}
	}
	return err
}

// rshError says that a program that was to log in did not, or lost the
// connection.
type rshError struct {
	program string
	said    string // on its standard error
}

func (e *rshError) Error() string {
	return fmt.Sprintf("%s ended with status %d", e.program, sshFailed)
}

// isDropped says whether ssh reported that the server hung up before the
// authentication, as one does that has too many logins under way (MaxStartups).
func (e *rshError) isDropped() bool {
	return strings.Contains(e.said, "kex_exchange_identification") || strings.Contains(e.said, "Connection reset by")
}
