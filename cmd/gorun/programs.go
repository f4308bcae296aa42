package main

import (
	"slices"

	"github.com/gorun/gorun/launcher"
)

// ofOneProgram are the flags, by their first names, that each of several
// programs has for itself. All others are the whole job's. The division is
// that of other launchers: Open MPI's -x and Hydra's -env are the program's
// before which they stand, Hydra's -genv is everyone's.
var ofOneProgram = []string{"np", "x", "env", "wdir"}

// checkOwn refuses flags of a later program that are the whole job's, unless
// they repeat what was said for the job.
func checkOwn(l line, p part, job []setting) error {
	for _, s := range p.settings {
		if slices.Contains(ofOneProgram, s.form.names[0]) ||
			slices.ContainsFunc(job, func(said setting) bool { return slices.Equal(said.ours, s.ours) }) {
			continue
		}
		flag := l.words[s.at : s.at+s.words()]
		if l.place != "" {
			return refusal(s.as+" is for the whole job: expected it on the command line",
				l.with(s.at, s.words()), "and beside --app: "+commandLine(append(slices.Clone(flag), "…")))
		}
		return refusal(s.as+" is for the whole job: expected it before the first program",
			commandLine(slices.Concat(flag, replaced(l.words, s.at, s.words()))))
	}
	return nil
}

// checkPrograms refuses programs that cannot be, whatever their flags.
func (c *command) checkPrograms() error {
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
				commandLine(withFlagOf(c.argv, i, "np", "1")), c.colonHint())
		}
	}
	return nil
}

// colonHint tells how to give a program the argument ":".
func (c *command) colonHint() string {
	return `to hand ":" to the program: ` + commandLine(replaced(c.argv, partsOf(c.argv)[0].begin, 0, "--"))
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
