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
	argv []string     // as typed, without "gorun" and "run", or the verb
	verb string       // "clean"; "": a job's command
	job  launcher.Job // hosts, streams and signals are connected by run

	first    part      // of argv: what stands before the first colon
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
		if i == 0 {
			c.first = p
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
	if err := c.completePlacement(); err != nil {
		return nil, err
	}
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
	var unused []idle
	for _, s := range settings {
		for _, word := range s.ours {
			if why, found := strings.CutPrefix(word, note); found {
				unused = unneededFlag(unused, s.as, why)
				continue
			}
			ours, c.pending = append(ours, word), append(c.pending, s)
		}
	}
	for _, i := range unused {
		c.notes = append(c.notes, i.note())
	}
	c.notes = append(c.notes, overridden(settings)...)
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
			c.withFlag("display-map"))
	case c.dryRun && c.showEnv >= 0:
		return refusal("--dry-run and --show-env: expected one of them, found both", c.withoutFlag("dry-run"), c.withoutFlag("show-env"))
	case c.reportBindings && c.showEnv >= 0:
		return refusal("--report-bindings: expected no --show-env beside it, which prints variables alone", c.withoutFlag("show-env"))
	case c.hostfile == "-" && c.rankfile == "-":
		return refusal("-hostfile - and --map-by rankfile:-: expected one of them to read standard input, found both", "give one of them a file")
	case (c.hostfile == "-" || c.rankfile == "-") && c.stdin != "" && c.stdin != "none":
		return refusal("--stdin: expected standard input for the ranks, found that the list of hosts or the rankfile is read from it",
			cmp.Or(c.withoutFlag("stdin"), "give the list in a file"))
	case c.job.Templates && strings.Contains(c.job.Streams.Dir, "{"):
		return refusal(fmt.Sprintf("--output-dir: expected a folder, which --template does not fill, found %q", c.job.Streams.Dir),
			"each rank has files of its own there: "+c.withFlag("output-dir", "out"))
	case c.job.Continue && c.job.Restarts > 0:
		return refusal("--on-failure continue and --restarts: expected one of them, found both",
			"what starts the job anew is a failure that ends it")
	case c.job.Limits.Early.Signal != 0 && c.job.Limits.Run <= 0:
		return refusal("--signal: expected --timeout beside it, before whose end the signal is sent",
			c.withFlag("timeout", "1h"))
	case c.job.Limits.Early.Signal != 0 && c.job.Limits.Early.Before >= c.job.Limits.Run:
		return refusal(fmt.Sprintf("--signal: expected less than the %v of --timeout, found %v", c.job.Limits.Run, c.job.Limits.Early.Before),
			"gorun --timeout 1h --signal USR1@5m …")
	case c.job.Wrap.Ranks != nil && len(c.job.Wrap.Command) == 0:
		return refusal("--wrap-ranks: expected --wrap beside it",
			c.withFlag("wrap", "valgrind"))
	case c.appFile == "" && slices.ContainsFunc(c.job.Apps, func(a launcher.App) bool { return a.MakeDir && a.Dir == "" }):
		return refusal("--wdir-create: expected -wdir beside it, the folder to make",
			c.withFlag("wdir", "/scratch/run"))
	case c.outputOnly && c.job.Streams.Dir == "":
		return refusal("--output-only: expected --output-dir beside it, since what goes nowhere is lost",
			c.withFlag("output-dir", "out"))
	case len(c.job.Files) > 0 && !c.job.Stage:
		return refusal("--stage-file: expected --stage beside it, since files go where the program goes",
			c.withFlag("stage"))
	}
	return nil
}
