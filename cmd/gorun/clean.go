package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/urfave/cli/v2"

	"github.com/gorun/gorun/launcher"
)

// cleaning is the command gorun clean. Of a job's flags it has those that say
// which hosts are meant and how to reach them.
type cleaning struct {
	*command
	launcher.Cleaning
}

// hostFlags are the flags of a job that concern its hosts and not its ranks.
var hostFlags = []string{
	"hostfile", "H", "allocation", "launcher", "local", "start-timeout",
	"rsh", "p", "i", "J", "identity-agent", "F", "accept-new-host-keys", "v", "q", "h",
}

func newCleaning(argv []string) *cleaning {
	c := &cleaning{command: newCommand(argv)}
	c.verb = "clean"
	c.programs[0].line = c.line()
	return c
}

// flags returns the table of flags of gorun clean.
func (c *cleaning) flags() []cli.Flag {
	flags := c.ownFlags()
	for _, f := range c.command.flags() {
		if slices.Contains(hostFlags, f.Names()[0]) {
			flags = append(flags, f)
		}
	}
	return flags
}

// ownFlags are those that a job does not have, or means otherwise.
func (c *cleaning) ownFlags() (flags []cli.Flag) {
	for _, f := range []*cli.GenericFlag{
		{Name: "dry-run", Usage: "only list what would be ended and removed",
			Value: c.toggle(func() { c.Dry = true })},
		{Name: "cache", Usage: "also remove agents and staged files unused for four weeks",
			Value: c.toggle(func() { c.Cache = true })},
		{Name: "json", Usage: "print what was found as JSON",
			Value: c.toggle(func() { c.json = true })},
	} {
		flags = append(flags, flag{f, []string{f.Name}})
	}
	return flags
}

// parseClean makes a command of the words behind "gorun clean". Its error is a
// *usageError.
func parseClean(argv []string) (*cleaning, error) {
	c := newCleaning(argv)
	app := c.app()
	app.Flags = c.flags()
	parts, err := grammarOf(app.Flags).split(c.line())
	if err != nil {
		return nil, err
	}
	if len(parts) > 1 {
		return nil, refusal(`expected ids of jobs, found ":"`, "gorun clean -h")
	}
	c.first = parts[0]
	if err := c.applyBy(app, parts[0].settings, parts[0].program); err != nil {
		return nil, err
	}
	c.Jobs = c.program().Args
	return c, nil
}

// clean ends what lost jobs have left and returns the exit status, as cleanStatus
// says.
func clean(argv []string) int {
	con := newConsole(os.Stderr)
	c, err := parseClean(argv)
	if err != nil {
		return refuse(con, err)
	}
	if c.help {
		_, err := os.Stdout.WriteString(c.helpText())
		return printed(err)
	}
	con.quiet = c.quiet
	if err := cmp.Or(c.checkSSHConfig(), checkKey(c.job.SSH.Key)); err != nil {
		return refuse(con, err)
	}
	if c.job.Hosts, err = c.hosts(); err != nil {
		return refuse(con, err)
	}
	c.job.SSH.Prompt = newPrompt().ask
	if c.verbose {
		c.job.Log = con.logger()
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	hosts, err := launcher.Clean(ctx, &c.job, c.Cleaning)
	if err != nil {
		return c.report(con, nil, err)
	}
	print := c.print
	if c.json {
		print = printJSON
	}
	status := c.verdict(hosts)
	if !c.quiet || c.json {
		err = print(os.Stdout, hosts)
	}
	if err != nil {
		return c.report(con, nil, err)
	}
	c.tellOfNamed(con, hosts)
	var failed []error
	for _, h := range hosts {
		failed = append(failed, h.Err)
	}
	if err := errors.Join(failed...); err != nil {
		con.fail(capped(c.message(err)), c.hints(err)...)
	}
	if status == launcher.StatusFailed {
		con.say("origin: gorun")
	}
	return status
}

// tellOfNamed says which of the jobs that were named run, as they are left alone,
// or are not there, as a typing error may be why.
func (c *cleaning) tellOfNamed(con *console, hosts []launcher.Cleaned) {
	for _, job := range c.Jobs {
		var runs []string
		lost := false
		for _, h := range hosts {
			if slices.Contains(h.Running, job) {
				runs = append(runs, h.Host)
			}
			lost = lost || slices.ContainsFunc(h.Lost, func(j launcher.LostJob) bool { return j.Job == job })
		}
		switch {
		case len(runs) > 0:
			con.fail(fmt.Sprintf("job %s runs on %s and was left alone", job, listed(runs)), "to end it, interrupt its gorun")
		case !lost && !slices.ContainsFunc(hosts, func(h launcher.Cleaned) bool { return h.Err != nil }):
			con.note("no job %s was found on %s", job, count(len(hosts), "host", "hosts"))
		}
	}
}

// listed names the first of some hosts and counts the rest.
func listed(names []string) string {
	const shown = 8
	if more := len(names) - shown; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), more)
	}
	return strings.Join(names, ", ")
}

// verdict returns the exit status.
func (c *cleaning) verdict(hosts []launcher.Cleaned) int {
	status := 0
	for _, h := range hosts {
		switch {
		case c.Dry && len(h.Lost) > 0, len(h.Problems) > 0,
			slices.ContainsFunc(c.Jobs, func(job string) bool { return slices.Contains(h.Running, job) }),
			slices.ContainsFunc(h.Lost, func(j launcher.LostJob) bool { return len(j.Problems) > 0 }):
			return 1
		case h.Err != nil:
			status = launcher.StatusFailed
		}
	}
	return status
}

// print writes what was found on each host for people.
func (c *cleaning) print(w io.Writer, hosts []launcher.Cleaned) error {
	var b strings.Builder
	for _, h := range hosts {
		if h.Err != nil {
			continue // it is told of as an error
		}
		fmt.Fprintf(&b, "%s: %s\n", h.Host, c.summary(h))
		for _, j := range h.Lost {
			for _, p := range j.Processes {
				fmt.Fprintf(&b, "  job %s of %s: process %d: %s\n", j.Job, j.User, p.PID, p.Command)
			}
			for _, path := range slices.Concat(j.Folders, j.Groups) {
				fmt.Fprintf(&b, "  job %s of %s: %s\n", j.Job, j.User, path)
			}
			for _, problem := range j.Problems {
				fmt.Fprintf(&b, "  job %s of %s: %s\n", j.Job, j.User, problem)
			}
		}
		for _, problem := range h.Problems {
			fmt.Fprintf(&b, "  %s\n", problem)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// summary says in one line what a host had.
func (c *cleaning) summary(h launcher.Cleaned) string {
	processes := 0
	for _, j := range h.Lost {
		processes += len(j.Processes)
	}
	ended, removed := "ended", "removed"
	if c.Dry {
		ended, removed = "to be ended", "to be removed"
	}
	text := "no lost job"
	if len(h.Lost) > 0 {
		text = fmt.Sprintf("%s of %s, %s", count(processes, "process", "processes"), count(len(h.Lost), "lost job", "lost jobs"), ended)
	}
	if len(h.Running) > 0 {
		text += "; " + count(len(h.Running), "job runs", "jobs run")
	}
	if h.Disused > 0 {
		size := fmt.Sprintf("%s of %d MB in the cache", count(h.Disused, "file", "files"), (h.DisusedBytes+1<<19)>>20)
		if c.Cache {
			text += fmt.Sprintf("; %s, %s", size, removed)
		} else {
			text += fmt.Sprintf("; %s unused for four weeks, which --cache removes", size)
		}
	}
	return text
}

func count(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

// printJSON writes what was found for programs: one object.
func printJSON(w io.Writer, hosts []launcher.Cleaned) error {
	type host struct {
		launcher.Cleaned
		Error string `json:"error,omitempty"`
	}
	report := struct {
		Hosts []host `json:"hosts"`
	}{Hosts: []host{}}
	for _, h := range hosts {
		one := host{Cleaned: h}
		if h.Err != nil {
			one.Error = h.Err.Error()
		}
		report.Hosts = append(report.Hosts, one)
	}
	return json.NewEncoder(w).Encode(report)
}

// cleanDescription is what to know of gorun clean.
const cleanDescription = `A job is lost where none of its agents lives. Its processes are killed, its
folders, sockets and control groups removed. Jobs that run are left alone. With
ids of jobs, it is about these only, and ends them also where their agent was
stopped; who wants to end a job that runs interrupts its gorun.

On each host it sees the jobs of the user that it logs in as; root sees those of
all users. Hosts are named as for a job; without any, it is this one.`

// cleanStatus tells what gorun clean exits with.
const cleanStatus = `Exit status: 0 nothing is left, also where no such job was found; 1 something is
left, with --dry-run something would be ended, or a job that was named runs; 125 a
host could not be asked; 2 wrong usage.`

// helpText is the help of gorun clean.
func (c *cleaning) helpText() string {
	var b strings.Builder
	fmt.Fprintf(&b, "gorun clean finds and ends what lost jobs have left on hosts\n\nusage: gorun clean [flags] [job…]\n\n%s\n\n", cleanDescription)
	for _, f := range c.flags() {
		fmt.Fprintln(&b, f.(flag).Entry())
	}
	fmt.Fprintf(&b, "\n%s\n", cleanStatus)
	return b.String()
}
