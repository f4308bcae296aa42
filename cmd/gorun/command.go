package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/gorun/gorun/launcher"
)

// command is what a command line asks for.
type command struct {
	argv []string     // as typed, without "gorun" and "run"
	job  launcher.Job // hosts, streams and signals are connected by run

	programs []program // by program of the job
	appFile  string    // whose lines are the programs; "": those of the command line

	hostfile string   // "": none named
	hostList []string // every -H
	envFiles []string // every --env-file
	showEnv  int      // a rank; -1: none

	placing
	verbose, quiet     bool
	progress           string // --progress; "": auto
	events, reportFile string // paths
	allEnds            bool   // list how every rank ended
	timestamp          bool
	outputOnly         bool
	stdin              string // of --stdin
	help, version      bool
	limitedBy          string   // the variable that Limits.Run is from; "": --timeout
	notes              []string // to be said before the job starts

	pending []setting // what [value.Set] has still to apply, in order
	refused error     // by value.Set: a *usageError
}

// usageError refuses a command line. Every hint is something to type or tells
// where to look.
type usageError struct {
	msg   string
	hints []string
}

func (e *usageError) Error() string { return e.msg }

func refusal(msg string, hints ...string) error { return &usageError{msg, hints} }

func newCommand(argv []string) *command {
	c := &command{argv: argv, showEnv: -1}
	c.addProgram(line{words: argv})
	return c
}

// addProgram makes another program the one that flags apply to. They must be
// made anew.
func (c *command) addProgram(l line) {
	c.job.Apps = append(c.job.Apps, launcher.App{})
	c.programs = append(c.programs, program{line: l})
}

// program is the one that flags apply to.
func (c *command) program() *launcher.App { return &c.job.Apps[len(c.job.Apps)-1] }

// app returns what parses our form of a command line into c's last program. Decision 1 says
// which surprise each of the settings is against.
func (c *command) app() *cli.App {
	return &cli.App{
		Name:  "gorun",
		Flags: c.flags(),
		Action: func(ctx *cli.Context) error {
			c.program().Args = ctx.Args().Slice()
			return nil
		},
		OnUsageError:              func(_ *cli.Context, err error, _ bool) error { return cmp.Or(c.refused, err) },
		ExitErrHandler:            func(*cli.Context, error) {},
		HideHelp:                  true,
		HideHelpCommand:           true,
		DisableSliceFlagSeparator: true,
	}
}

// parse makes a command of a command line. Its error is a *usageError. It
// reads nothing but argv: files and variables are the business of run.
func parse(argv []string) (*command, error) {
	c := newCommand(argv)
	l := line{words: argv}
	parts, err := newGrammar(c.flags()).split(l)
	if err != nil {
		return nil, err
	}
	for i, p := range parts {
		settings := p.settings
		if i > 0 {
			if settings, err = own(l, settings, parts[0].settings); err != nil {
				return nil, err
			}
			c.addProgram(l)
		}
		c.programs[i].part = p
		if err := c.apply(settings, p.program); err != nil {
			return nil, err
		}
		c.takeHosts()
	}
	c.shareHosts()
	if c.help || c.version {
		return c, nil
	}
	if len(parts) == 1 { // what is its only program's is the job's
		c.job.Env.Set = append(c.job.Env.Set, c.job.Apps[0].Env...)
		c.job.Apps[0].Env = nil
	}
	c.completeStreams()
	c.completePlacement()
	return c, c.check()
}

// apply lets the library apply flags to c and its last program, which is
// called with words.
func (c *command) apply(settings []setting, words []string) error {
	return c.applyBy(c.app(), settings, words)
}

// applyBy is apply by an app of a verb's own.
func (c *command) applyBy(app *cli.App, settings []setting, words []string) error {
	ours := []string{app.Name}
	for _, s := range settings {
		for _, word := range s.ours {
			if why, found := strings.CutPrefix(word, note); found {
				c.notes = append(c.notes, s.as+" has no effect: "+why)
				continue
			}
			ours, c.pending = append(ours, word), append(c.pending, s)
		}
	}
	return app.Run(slices.Concat(ours, []string{"--"}, words))
}

// check refuses what no flag alone is wrong about.
func (c *command) check() error {
	if err := cmp.Or(c.checkPrograms(), c.checkOwnHosts()); err != nil {
		return err
	}
	switch {
	case c.json && !c.displayMap && !c.dryRun:
		return refusal("--json: expected --display-map or --dry-run beside it, whose form it is",
			commandLine(withFlag(c.argv, "display-map")))
	case c.hostfile != "" && len(c.hostList) > 0:
		return refusal("-hostfile and -H: expected one of them, found both",
			"give the hosts in the file or in the list")
	case c.job.Continue && c.job.Restarts > 0:
		return refusal("--on-failure continue and --restarts: expected one of them, found both",
			"what starts the job anew is a failure that ends it")
	case c.job.Limits.Early.Signal != 0 && c.job.Limits.Run <= 0:
		return refusal("--signal: expected --timeout beside it, before whose end the signal is sent",
			commandLine(withFlag(c.argv, "timeout", "1h")))
	case c.job.Limits.Early.Signal != 0 && c.job.Limits.Early.Before >= c.job.Limits.Run:
		return refusal(fmt.Sprintf("--signal: expected less than the %v of --timeout, found %v", c.job.Limits.Run, c.job.Limits.Early.Before),
			"gorun --timeout 1h --signal USR1@5m …")
	case c.job.Wrap.Ranks != nil && len(c.job.Wrap.Command) == 0:
		return refusal("--wrap-ranks: expected --wrap beside it",
			commandLine(withFlag(c.argv, "wrap", "valgrind")))
	case c.appFile == "" && slices.ContainsFunc(c.job.Apps, func(a launcher.App) bool { return a.MakeDir && a.Dir == "" }):
		return refusal("--wdir-create: expected -wdir beside it, the folder to make",
			commandLine(withFlag(c.argv, "wdir", "/scratch/run")))
	case c.outputOnly && c.job.Streams.Dir == "":
		return refusal("--output-only: expected --output-dir beside it, since what goes nowhere is lost",
			commandLine(withFlag(c.argv, "output-dir", "out")))
	case len(c.job.Files) > 0 && !c.job.Stage:
		return refusal("--stage-file: expected --stage beside it, since files go where the program goes",
			commandLine(withFlag(c.argv, "stage")))
	}
	return nil
}
