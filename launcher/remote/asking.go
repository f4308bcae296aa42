package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
)

// askSSH has OpenSSH's client evaluate the configuration for a host, since why
// names what only that can: a condition that runs a command or looks at the
// network, a name that is made canonical. It costs a process a host, so nobody
// pays for it whose configuration is free of these.
func (d *Dialer) askSSH(ctx context.Context, r request, why string) (*evaluation, error) {
	release, err := takeToken(ctx, d.logins)
	if err != nil {
		return nil, fmt.Errorf("%s: %w (%w)", why, err, context.Cause(ctx))
	}
	defer release()
	args := []string{"-G"}
	if d.conf.Config != "" {
		args = append(args, "-F", d.conf.Config)
	}
	if r.user != "" {
		args = append(args, "-l", r.user)
	}
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, "ssh", append(args, "--", r.name)...)
	cmd.Stderr = &stderr
	// A command of Match exec is a child of ssh's, which holds the pipes.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	answer, err := cmd.Output()
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return nil, fmt.Errorf("%s: only OpenSSH's ssh can evaluate that, and there is none in PATH", why)
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%s: ssh -G has not answered (%w)", why, context.Cause(ctx))
	case err != nil:
		return nil, fmt.Errorf("%s: ssh -G: %w: %s", why, err, strings.Join(strings.Fields(stderr.String()), " "))
	}
	return d.parseAnswer(r, answer), nil
}

// parseAnswer reads what ssh -G printed: a keyword and its value on each line,
// with nothing quoted.
func (d *Dialer) parseAnswer(r request, answer []byte) *evaluation {
	e := &evaluation{host: r.name, user: r.user, local: d.local, values: map[string][]value{}}
	for line := range strings.Lines(string(answer)) {
		keyword, rest, ok := strings.Cut(strings.TrimSpace(line), " ")
		keyword = strings.ToLower(keyword)
		if !ok || rest == "" || !acted(keyword) {
			continue
		}
		args := []string{rest}
		if strings.HasSuffix(keyword, "knownhostsfile") {
			args = strings.Fields(rest)
		}
		e.add(directive{keyword: keyword, args: args, raw: rest, pos: "ssh -G " + r.name})
	}
	// ssh prints its defaults too, for which a missing file is no fault.
	if keys := e.each("identityfile"); !slices.ContainsFunc(defaultKeys, func(name string) bool {
		return !slices.Contains(keys, "~/.ssh/"+name)
	}) {
		delete(e.values, "identityfile")
	}
	return e
}
