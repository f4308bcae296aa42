package main

import "slices"

// What hints suggest is the command line that was typed, with one thing
// changed.

// settingsOf returns the flags of a command line that was accepted.
func settingsOf(argv []string) []setting {
	settings, _, _ := newGrammar(newCommand(nil).flags()).split(argv) // accepted before
	return settings
}

// withFlag returns argv with a flag of ours, named as in the table of flags.
// Where it was given, its value is replaced: of two the last one would count.
func withFlag(argv []string, name string, values ...string) []string {
	for _, s := range slices.Backward(settingsOf(argv)) {
		switch {
		case s.form.names[0] == name && s.joined:
			return replaced(argv, s.at, 1, s.as+"="+values[0])
		case s.form.names[0] == name:
			return replaced(argv, s.at, s.words(), append([]string{s.as}, values...)...)
		case name == "N" && s.form.names[0] == "pernode":
			return replaced(argv, s.at, 1, append([]string{spelled(name)}, values...)...)
		}
	}
	return slices.Concat([]string{spelled(name)}, values, argv)
}

// withProgram returns argv, whose tail is the job's program, with another name
// of the program.
func (c *command) withProgram(argv []string, program string) []string {
	return replaced(argv, len(argv)-len(c.job.Apps[0].Args), 1, program)
}

// surroundings are the flags that make what a rank finds around it: on which
// host it is, its variables and its folder.
var surroundings = []string{
	"hostfile", "H", "local", "p", "i", "F", "accept-new-host-keys", "wdir",
	"x", "export", "genv", "genvlist", "genvall", "genvnone",
}

// probe returns a command whose ranks, one on each host of the job, run
// another program where the job's would.
func (c *command) probe(program ...string) string {
	var argv []string
	for _, s := range settingsOf(c.argv) {
		if slices.Contains(surroundings, s.form.names[0]) {
			argv = append(argv, c.argv[s.at:s.at+s.words()]...)
		}
	}
	if len(c.job.Hosts) > 0 {
		argv = append(argv, "-N", "1")
	}
	return commandLine(append(argv, program...))
}
