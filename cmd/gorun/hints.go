package main

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/gorun/gorun/hostfiles"
	"github.com/gorun/gorun/launcher"
	"github.com/gorun/gorun/launcher/remote"
)

// message returns what to say of a failure that no rank is to blame for.
func (c *command) message(err error) string {
	if sig, ok := errors.AsType[*launcher.SignalError](err); ok {
		return "the job was " + sig.Error()
	}
	if errors.Is(err, launcher.ErrTimeout) {
		limit := fmt.Sprintf("%v of %v (%s)", launcher.ErrTimeout, c.job.Limits.Run, cmp.Or(c.limitedBy, "--timeout"))
		return strings.Replace(err.Error(), launcher.ErrTimeout.Error(), limit, 1)
	}
	return err.Error()
}

// hints returns what to do about a failure that no rank is to blame for. Of
// several failures the first one's serve all.
func (c *command) hints(err error) []string {
	if start, ok := errors.AsType[*launcher.StartError](err); ok {
		return c.startHints(start)
	}
	if key, ok := errors.AsType[*remote.HostKeyError](err); ok {
		return c.hostKeyHints(key)
	}
	if _, ok := errors.AsType[*remote.AuthError](err); ok {
		return []string{"ssh-add " + filepath.Join("~", ".ssh", "id_ed25519"), c.withFlag("i", "KEY")}
	}
	if step, ok := errors.AsType[*remote.StepError](err); ok {
		return c.stepHints(step)
	}
	if host, ok := errors.AsType[*launcher.HostError](err); ok {
		return c.hostHints(host)
	}
	if differ, ok := errors.AsType[*launcher.DifferenceError](err); ok {
		return c.differenceHints(differ)
	}
	if plan, ok := errors.AsType[*launcher.PlanError](err); ok {
		return slices.Concat(pathHints(err), c.planHints(plan))
	}
	return pathHints(err)
}

// hostKeyHints tells how to come to trust a host, which is the user's to
// decide.
func (c *command) hostKeyHints(e *remote.HostKeyError) []string {
	switch {
	case e.Revoked:
		return nil
	case e.Line != 0:
		return []string{fmt.Sprintf("if the new key is right: sed -i %dd %s", e.Line, quoted(e.File))}
	}
	return []string{"if the fingerprint is right: " + c.withFlag("accept-new-host-keys")}
}

// differenceHints tells how to have the same program everywhere.
func (c *command) differenceHints(e *launcher.DifferenceError) []string {
	if !slices.ContainsFunc(e.Differences, func(s string) bool { return strings.HasPrefix(s, "program ") }) {
		return nil
	}
	return []string{"this host's program for all: " + c.withFlag("stage")}
}

// stepHints tells how to look closer at a job of Slurm's that started no step.
func (c *command) stepHints(e *remote.StepError) []string {
	return []string{
		"is the job still there? squeue --jobs " + quoted(e.Job),
		"to leave it out of account: " + c.withFlag("allocation", "none"),
	}
}

// hostHints tells how to look closer at a host that was not reached: with ssh,
// which speaks to servers as gorun does and can say more.
func (c *command) hostHints(e *launcher.HostError) []string {
	if e.Hint != "" {
		return strings.Split(e.Hint, "\n")
	}
	if rsh := c.job.SSH.Rsh; rsh != "" && e.Step == string(remote.StepAgent) {
		if !strings.Contains(rsh, "{host}") {
			rsh += " {host}"
		}
		return []string{"--rsh is to run a command on the host; what prints ok if it does: " + strings.ReplaceAll(rsh, "{host}", quoted(e.Host)) + " 'echo ok'"}
	}
	if e.Step != string(remote.StepDial) && e.Step != string(remote.StepLogin) || c.job.SSH.Rsh != "" {
		return nil
	}
	login := []string{"ssh", "-v"}
	flag := func(name, value string) {
		if value != "" {
			login = append(login, name, quoted(value))
		}
	}
	entry := hostfiles.Host{Name: e.Host}
	for _, h := range c.job.Hosts {
		if h.Name == e.Host {
			entry = h
		}
	}
	if port := cmp.Or(entry.Port, c.job.SSH.Port); port != 0 {
		flag("-p", strconv.Itoa(port))
	}
	flag("-l", entry.User)
	flag("-i", cmp.Or(entry.Key, c.job.SSH.Key))
	flag("-J", cmp.Or(entry.Jump, c.job.SSH.Jump))
	flag("-F", c.job.SSH.Config)
	return []string{strings.Join(append(login, quoted(entry.Name), "true"), " ")}
}
