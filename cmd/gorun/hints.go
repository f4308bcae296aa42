package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/gorun/gorun/hostfiles"
	"github.com/gorun/gorun/launcher"
	"github.com/gorun/gorun/launcher/placement"
	"github.com/gorun/gorun/launcher/remote"
)

// message returns what to say of a failure that no rank is to blame for.
func (c *command) message(err error) string {
	if sig, ok := errors.AsType[*launcher.SignalError](err); ok {
		return "the job was " + sig.Error()
	}
	if errors.Is(err, launcher.ErrTimeout) {
		return fmt.Sprintf("%v of %v (--timeout)", launcher.ErrTimeout, c.job.Limits.Run)
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
		return []string{"ssh-add " + filepath.Join("~", ".ssh", "id_ed25519"), c.withFlags("-i", "KEY")}
	}
	if host, ok := errors.AsType[*launcher.HostError](err); ok {
		return c.hostHints(host)
	}
	if plan, ok := errors.AsType[*launcher.PlanError](err); ok {
		return c.planHints(plan)
	}
	return nil
}

// withFlags returns the command with more flags.
func (c *command) withFlags(flags ...string) string {
	return commandLine(append(flags, c.argv...))
}

// withProgram returns the command with another name of the program.
func (c *command) withProgram(program string) string {
	return commandLine(replaced(c.argv, len(c.argv)-len(c.job.Apps[0].Args), 1, program))
}

// startHints tells how to name a program that was not found, or how to make a
// program of a file. What lies here under that name tells most.
func (c *command) startHints(e *launcher.StartError) (hints []string) {
	if e.Hint != "" {
		hints = strings.Split(e.Hint, "\n")
	}
	app := c.job.Apps[0]
	if app.Dir != "" && e.Program == app.Dir {
		return append(hints, fmt.Sprintf("on %s: mkdir -p %s", e.Host, quoted(app.Dir)))
	}
	program := app.Args[0]
	info, err := os.Stat(filepath.Join(app.Dir, program))
	here := err == nil && info.Mode().IsRegular()
	switch bare := !strings.ContainsRune(program, filepath.Separator); {
	case e.Missing && bare && here:
		hints = append(hints, c.withProgram("./"+program))
	case e.Missing && here && len(c.job.Hosts) > 0 && !c.job.Stage:
		hints = append(hints, "the file is here; to copy it to the hosts: "+c.withFlags("--stage"))
	case e.Missing && bare && len(hints) == 0:
		hints = append(hints, "where ranks look: gorun sh -c 'echo $PATH'")
	case e.Missing && len(hints) == 0:
		hints = append(hints, "where ranks start: gorun pwd; elsewhere: "+c.withFlags("-wd", "DIR"))
	case !e.Missing && here && info.Mode()&0o111 == 0:
		hints = append(hints, "chmod +x "+quoted(program))
	}
	return hints
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
	return []string{"if the fingerprint is right: " + c.withFlags("--accept-new-host-keys")}
}

// hostHints tells how to look closer at a host that was not reached: with ssh,
// which speaks to servers as gorun does and can say more.
func (c *command) hostHints(e *launcher.HostError) []string {
	if e.Hint != "" {
		return strings.Split(e.Hint, "\n")
	}
	if e.Step != string(remote.StepDial) && e.Step != string(remote.StepLogin) {
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
	flag("-F", c.job.SSH.Config)
	return []string{strings.Join(append(login, quoted(entry.Name), "true"), " ")}
}

// planHints offers to share slots where that is all that is in the way.
func (c *command) planHints(e *launcher.PlanError) []string {
	hosts := make([]placement.Host, len(c.job.Hosts))
	for i, h := range c.job.Hosts {
		hosts[i] = placement.Host{Name: h.Name, Slots: h.Slots, MaxSlots: h.MaxSlots}
	}
	policy := c.job.Placement
	if placement.Check(c.job.Apps[0].Ranks, hosts, policy) == nil {
		return nil // it is something else
	}
	policy.Oversubscribe = true
	if len(e.Problems) == 1 && placement.Check(c.job.Apps[0].Ranks, hosts, policy) == nil {
		return []string{"to let ranks share slots: " + c.withFlags("--oversubscribe")}
	}
	return nil
}
