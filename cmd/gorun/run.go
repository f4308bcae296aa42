package main

import (
	"cmp"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gorun/gorun/internal/envfile"
	"github.com/gorun/gorun/launcher"
	"github.com/gorun/gorun/launcher/placement"
)

// run runs the job that argv describes and returns the exit status.
func run(argv []string) int {
	con := newConsole(os.Stderr)
	c, err := parse(argv)
	if err != nil {
		reportRefusal(con, reportFileOf(argv), err)
		return refuse(con, err)
	}
	switch {
	case c.help:
		return printHelp(os.Stdout)
	case c.version:
		return printVersion(os.Stdout)
	}
	con.quiet = c.quiet
	if err := c.read(); err != nil {
		reportRefusal(con, c.reportFile, err)
		return refuse(con, err)
	}
	for _, note := range c.notes {
		con.note("note: %s", note)
	}
	return c.run(con)
}

// read completes the job with what lies outside the command line: host lists,
// the working folder, the presence of files.
func (c *command) read() (err error) {
	if err := cmp.Or(c.checkSSHConfig(), checkKey(c.job.SSH.Key)); err != nil {
		return err
	}
	if err := c.readTimeout(); err != nil {
		return err
	}
	if c.appFile != "" {
		if err := c.readPrograms(); err != nil {
			return err
		}
	}
	for i := range c.job.Apps {
		app := &c.job.Apps[i]
		if app.Dir == "" {
			continue
		}
		c.programs[i].dir = app.Dir
		if app.Dir, err = filepath.Abs(app.Dir); err != nil {
			return refusal("-wd: "+err.Error(), "give the folder from the root: -wd /scratch/run")
		}
	}
	if err := c.readEnvFiles(); err != nil {
		return err
	}
	if c.job.Hosts, err = c.hosts(); err != nil {
		return err
	}
	return c.readRankfile()
}

// run connects the job's streams and signals, runs it and reports its end.
func (c *command) run(con *console) int {
	ctx := context.Background() // what ends a job early comes as a signal
	if err := checkReportFile(c.reportFile); err != nil {
		return refuse(con, err)
	}
	events, err := openEventLog(con, c.events)
	if err != nil {
		reportRefusal(con, c.reportFile, err)
		return refuse(con, err)
	}
	defer events.close()
	c.job.Signals = watchSignals()
	progress, prompt := c.newProgress(con), newPrompt()
	defer progress.end()
	c.job.SSH.Prompt = func(ctx context.Context, q launcher.Question) ([]byte, error) {
		defer progress.yield()()
		return prompt.ask(ctx, q)
	}
	c.connectStreams(con)
	listen := c.listener(con, progress)
	c.job.Events = func(ev launcher.Event) {
		progress.update(ev)
		events.write(ev)
		listen(ev)
	}
	if c.verbose {
		c.job.Log = con.logger()
	}

	boundMemory(len(c.job.Hosts))
	result := &launcher.Result{}
	if c.dryRun {
		err = c.plan(ctx, con, progress)
	} else if c.showEnv >= 0 {
		err = c.environ(ctx, progress)
	} else {
		result, err = launcher.Run(ctx, &c.job)
	}
	if c.reportFile != "" {
		if err := writeReportFile(c.reportFile, newJobReport(result, err)); err != nil {
			con.note("warning: --report-file: %v", err)
		}
	}
	return c.report(con, result, err)
}

// plan prints where the ranks would go.
func (c *command) plan(ctx context.Context, con *console, progress *progress) error {
	plan, err := launcher.Plan(ctx, &c.job)
	progress.end()
	if err != nil {
		return err
	}
	if err := c.printPlan(plan, os.Stdout); err != nil {
		return err
	}
	c.sayBindings(con, plan)
	return nil
}

// sayBindings tells of what each rank gets, if that is asked for.
func (c *command) sayBindings(con *console, plan *placement.Plan) {
	if c.reportBindings {
		for _, line := range plan.Bindings() {
			con.say("gorun: %s", line)
		}
	}
}

// environ prints the variables that the rank of --show-env would get, in lines
// that --env-file reads.
func (c *command) environ(ctx context.Context, progress *progress) error {
	env, err := launcher.Environ(ctx, &c.job, c.showEnv)
	progress.end()
	if err != nil {
		return err
	}
	slices.Sort(env)
	var b strings.Builder
	for _, entry := range env {
		b.WriteString(envfile.Format(entry) + "\n")
	}
	_, err = io.WriteString(os.Stdout, b.String())
	return err
}

// listener returns what is told of the job's events: warnings, restarts and
// hosts that a job goes on without always, waiting unless progress shows it, the
// rest with -v, and with --display-map the plan.
func (c *command) listener(con *console, progress *progress) func(launcher.Event) {
	return func(ev launcher.Event) {
		switch {
		case ev.Kind == launcher.Warning:
			con.note("%v", ev)
		case ev.Kind == launcher.StackTrace:
			for line := range strings.Lines(ev.Message) {
				con.say("%s:%d| %s", ev.Host, ev.Rank, strings.TrimRight(line, "\n"))
			}
		case c.verbose:
			con.say("gorun: %s %v", ev.Time.Format("15:04:05.000"), ev)
		case ev.Kind == launcher.Waiting && !progress.shows():
			con.note("waiting %s", ev.Message)
		case ev.Kind == launcher.Restarting:
			con.note("%s", ev.Message)
		case ev.Kind == launcher.HostLost && c.job.Continue:
			con.note("host %s is lost: %s", ev.Host, ev.Message)
		}
		if ev.Kind != launcher.Placed {
			return
		}
		if c.displayMap {
			c.printPlan(ev.Plan, con) // as with say, nobody is left to be told of an error
		}
		c.sayBindings(con, ev.Plan)
	}
}
