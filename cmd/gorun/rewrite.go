package main

import "slices"

// What hints suggest is the command line that was typed, with one thing
// changed.

// partsOf returns the parts of a command line that was accepted.
func partsOf(argv []string) []part {
	parts, _ := newGrammar(newCommand(nil).flags()).split(line{words: argv}) // accepted before
	return parts
}

// withFlag returns argv with a flag of ours for the whole job, or for its only
// program, named as in the table of flags. Where it was given, its value is
// replaced: of two the last one would count.
func withFlag(argv []string, name string, values ...string) []string {
	return withFlagOf(argv, 0, name, values...)
}

// withFlagOf does the same for one of several programs.
func withFlagOf(argv []string, app int, name string, values ...string) []string {
	p := partsOf(argv)[app]
	for _, s := range slices.Backward(p.settings) {
		switch {
		case s.form.names[0] == name && s.joined:
			return replaced(argv, s.at, 1, s.as+"="+values[0])
		case s.form.names[0] == name:
			return replaced(argv, s.at, s.words(), append([]string{s.as}, values...)...)
		case name == "N" && s.form.names[0] == "pernode":
			return replaced(argv, s.at, 1, append([]string{spelled(name)}, values...)...)
		}
	}
	return replaced(argv, p.at, 0, append([]string{spelled(name)}, values...)...)
}

// withProgram returns argv with another name of one of the programs.
func withProgram(argv []string, app int, program string) []string {
	return replaced(argv, partsOf(argv)[app].begin, 1, program)
}

// surroundings are the flags that make what a rank finds around it: on which
// host it is, its variables and its folder.
var surroundings = []string{
	"hostfile", "H", "local", "p", "i", "F", "accept-new-host-keys", "wdir",
	"x", "set-env", "export", "env", "genv", "genvlist", "genvall", "genvnone",
	"env-file", "unset-env", "prepend-env", "append-env", "env-compat",
}

// probe returns a command whose ranks, one on each host of the job, run
// another program where one of the job's would.
func (c *command) probe(app int, program ...string) string {
	var argv []string
	for i, p := range partsOf(c.argv) {
		for _, s := range p.settings {
			name := s.form.names[0]
			ofOne := slices.Contains(ofOneProgram, name)
			if slices.Contains(surroundings, name) && (i == app || i == 0 && !ofOne) {
				argv = append(argv, c.argv[s.at:s.at+s.words()]...)
			}
		}
	}
	if len(c.job.Hosts) > 0 {
		argv = append(argv, "-N", "1")
	}
	return commandLine(append(argv, program...))
}
