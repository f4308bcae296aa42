package main

import (
	"context"
	"os"
	"path/filepath"

	"github.com/gorun/gorun/launcher"
)

// run runs the job that argv describes and returns the exit status.
func run(argv []string) int {
	con := newConsole(os.Stderr)
	c, err := parse(argv)
	if err != nil {
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
	if err := checkSSHConfig(c.job.SSH.Config); err != nil {
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
	c.job.Hosts, err = c.hosts()
	return err
}

// run connects the job's streams and signals, runs it and reports its end.
func (c *command) run(con *console) int {
	ctx := context.Background() // what ends a job early comes as a signal
	signals, stop := watchSignals()
	defer stop()

	c.job.Signals = signals
	c.job.SSH.Prompt = newPrompt().ask
	c.connectStreams(con)
	c.job.Events = c.listener(con)
	if c.verbose {
		c.job.Log = con.logger()
	}

	if c.dryRun {
		plan, err := launcher.Plan(ctx, &c.job)
		if err == nil {
			err = plan.Table(os.Stdout)
		}
		return c.report(con, nil, err)
	}
	result, err := launcher.Run(ctx, &c.job)
	return c.report(con, result, err)
}

// listener returns what is told of the job's events: warnings always, the
// rest with -v, and with --display-map the plan.
func (c *command) listener(con *console) func(launcher.Event) {
	return func(ev launcher.Event) {
		switch {
		case ev.Kind == launcher.Warning:
			con.note("%v", ev)
		case c.verbose:
			con.say("gorun: %s %v", ev.Time.Format("15:04:05.000"), ev)
		}
		if ev.Kind == launcher.Placed && c.displayMap {
			ev.Plan.Table(con) // as with say, nobody is left to be told of an error
		}
	}
}
