package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gorun/gorun/launcher"
)

// command is what a command line asks for.
type command struct {
	argv []string     // as typed, without "gorun" and "run"
	job  launcher.Job // hosts, streams and signals are connected by run
	dir  string       // of -wd, as typed

	hostfile string   // "": none named
	hostList []string // every -H

	displayMap, dryRun bool
	verbose, quiet     bool
	help, version      bool
	notes              []string // to be said before the job starts
}

// usageError refuses a command line. Every hint is something to type or tells
// where to look.
type usageError struct {
	msg   string
	hints []string
}

func (e *usageError) Error() string { return e.msg }

// parse makes a command of a command line. Its error is a *usageError. It
// reads nothing but argv: files and variables are the business of run.
func parse(argv []string) (*command, error) {
	settings, program, err := split(argv)
	if err != nil {
		return nil, err
	}
	c := &command{argv: argv, job: launcher.Job{Apps: []launcher.App{{Args: program}}}}
	for _, s := range settings {
		if err := s.flag.set(c, s.values); err != nil {
			return nil, refusedValue(argv, s, err)
		}
	}
	if c.help || c.version {
		return c, nil
	}
	return c, c.check(argv, program)
}

// check refuses what no flag alone is wrong about.
func (c *command) check(argv, program []string) error {
	switch {
	case len(program) == 0:
		return &usageError{
			msg:   "expected a program, found the end of the command",
			hints: []string{commandLine(append(argv[:len(argv):len(argv)], "./train"))},
		}
	case program[0] == "":
		return &usageError{
			msg:   `expected a program, found the empty word ""`,
			hints: []string{"a variable that is not set? see what the shell makes of it: echo gorun …"},
		}
	case c.hostfile != "" && len(c.hostList) > 0:
		return &usageError{
			msg:   "-hostfile and -H: expected one of them, found both",
			hints: []string{"give the hosts in the file or in the list"},
		}
	case len(c.job.Files) > 0 && !c.job.Stage:
		return &usageError{
			msg:   "--stage-file: expected --stage beside it, since files go where the program goes",
			hints: []string{commandLine(append([]string{"--stage"}, argv...))},
		}
	}
	return nil
}

// refusedValue completes the error of a flag's set with the flag, the value
// and a command that is accepted.
func refusedValue(argv []string, s setting, err error) error {
	found := strings.Join(s.values, " ")
	corrected := func(example string) string {
		if s.joined {
			return commandLine(replaced(argv, s.at, 1, s.as+"="+example))
		}
		return commandLine(replaced(argv, s.at+1, len(s.values), strings.Fields(example)...))
	}
	if bad, ok := errors.AsType[*valueError](err); ok {
		return &usageError{
			msg:   fmt.Sprintf("%s: expected %s, found %q", s.as, bad.want, found),
			hints: []string{corrected(bad.example)},
		}
	}
	if coming, ok := errors.AsType[*notBuiltError](err); ok {
		return &usageError{
			msg:   fmt.Sprintf("%s: %v", s.as, coming),
			hints: []string{corrected(coming.example)},
		}
	}
	return &usageError{msg: fmt.Sprintf("%s: %v", s.as, err), hints: []string{"gorun help lists the flags"}}
}

// passVariable takes the value of -x: NAME, NAME=VALUE or a pattern.
func (c *command) passVariable(s string) error {
	if name, value, found := strings.Cut(s, "="); found {
		return c.setVariable(name, value, "NCCL_DEBUG=INFO")
	}
	if !variableName(s, true) {
		return &valueError{"the name of a variable, NAME=VALUE or a pattern", "NCCL_DEBUG=INFO"}
	}
	c.job.Env.Pass = append(c.job.Env.Pass, s)
	return nil
}

// setVariable sets a variable for the ranks. Example is how the flag at hand
// writes one.
func (c *command) setVariable(name, value, example string) error {
	if !variableName(name, false) {
		return &valueError{"the name of a variable and its value", example}
	}
	c.job.Env.Set = append(c.job.Env.Set, name+"="+value)
	return nil
}

// ignore accepts a flag of old scripts that has nothing to do here.
func (c *command) ignore(as string) error {
	c.notes = append(c.notes, as+" has no effect: gorun runs as any user and finds itself on the hosts")
	return nil
}
