package main

import (
	"slices"

	"github.com/gorun/gorun/launcher"
)

// A program is one of a job's, as it was typed.
type program struct {
	line  line
	part           // of the line
	dir   string   // of -wdir
	hosts []string // every -H, if each program has its own; else nil
}

// ofOneProgram are the flags, by their first names, that each of several
// programs has for itself. All others are the whole job's. The division is
// that of other launchers: Open MPI's -x and Hydra's -env are the program's
// before which they stand, Hydra's -genv is everyone's.
var ofOneProgram = []string{"np", "H", "x", "env", "mca", "pmixmca", "wdir", "wdir-create", "umask"}

// own returns the flags that are the program's own. It refuses those of the
// whole job, unless they repeat what was said for the job.
func own(l line, settings, job []setting) (own []setting, err error) {
	for _, s := range settings {
		if slices.Contains(ofOneProgram, s.form.names[0]) {
			own = append(own, s)
			continue
		}
		if slices.ContainsFunc(job, func(said setting) bool { return slices.Equal(said.ours, s.ours) }) {
			continue
		}
		flag := l.words[s.at : s.at+s.words()]
		if l.place != "" {
			return nil, refusal(s.as+" is for the whole job: expected it on the command line",
				l.with(s.at, s.words()), "and beside --app: "+commandLine(append(slices.Clone(flag), "…")))
		}
		return nil, refusal(s.as+" is for the whole job: expected it before the first program",
			commandLine(slices.Concat(flag, replaced(l.words, s.at, s.words()))))
	}
	return own, nil
}

// checkPrograms refuses programs that cannot be, whatever their flags.
func (c *command) checkPrograms() error {
	if c.appFile != "" {
		return c.checkAppFile()
	}
	for i, app := range c.job.Apps {
		switch {
		case len(app.Args) == 0 && i > 0:
			return refusal(`expected a program behind ":", found the end of the command`,
				c.colonHint(), commandLine(slices.Concat(c.argv, []string{"./train"})))
		case len(app.Args) == 0:
			return refusal("expected a program, found the end of the command",
				commandLine(slices.Concat(c.argv, []string{"./train"})))
		case app.Args[0] == "":
			return refusal(`expected a program, found the empty word ""`,
				"a variable that is not set? see what the shell makes of it: echo gorun …")
		}
	}
	for i, app := range c.job.Apps {
		if len(c.job.Apps) > 1 && app.Ranks == 0 {
			return refusal("expected the number of ranks of each of several programs, found none for "+app.Args[0],
				c.programs[i].withFlag("np", "1"), c.colonHint())
		}
	}
	return nil
}

// checkAppFile refuses what does not go with --app.
func (c *command) checkAppFile() error {
	first := c.programs[0]
	switch {
	case len(first.program) > 0:
		return refusal("--app: expected no program beside it, found "+first.program[0],
			"without it: "+commandLine(c.argv[:first.begin]))
	case c.job.Apps[0].Ranks > 0:
		return refusal("--app: expected the number of ranks of each program in its line, found it on the command line",
			c.appFile+": -np 2 ./train")
	}
	return nil
}

// colonHint tells how to give a program the argument ":".
func (c *command) colonHint() string {
	return `to hand ":" to the program: ` + commandLine(replaced(c.argv, c.programs[0].begin, 0, "--"))
}

// appOf returns the index of the program that a rank runs.
func appOf(apps []launcher.App, rank int) int {
	for i, app := range apps {
		if rank -= app.Ranks; rank < 0 {
			return i
		}
	}
	return 0 // the only one, whose number of ranks the slots decide
}
