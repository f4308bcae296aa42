package main

import (
	"slices"
	"strings"
)

// What hints suggest is the command line that was typed, with one thing
// changed.

// partsOf returns the parts of a command line that was accepted.
func partsOf(argv []string) []part {
	parts, _ := newGrammar(newCommand(nil).flags()).split(line{words: argv}) // accepted before
	return parts
}

// withFlag returns argv with a flag of ours for the whole job, named as in the
// table of flags. Where it was given, its value is replaced: of two the last
// one would count.
func withFlag(argv []string, name string, values ...string) []string {
	p := partsOf(argv)[0]
	at, n, words := p.edit(name, values)
	return replaced(argv, at, n, words...)
}

// withFlag returns the command that was typed with a flag of ours for the whole
// job, as the function of that name does.
func (c *command) withFlag(name string, values ...string) string {
	at, n, words := c.first.edit(name, values)
	return c.line().with(at, n, words...)
}

// withoutFlag returns the command that was typed without every mention of a flag
// of ours, "" if there is none.
func (c *command) withoutFlag(name string) string {
	argv := c.argv
	for _, s := range slices.Backward(c.first.settings) {
		if s.form.names[0] == name {
			argv = replaced(argv, s.at, s.words())
		}
	}
	if len(argv) == len(c.argv) {
		return ""
	}
	return c.line().typed(argv)
}

// line is the command line.
func (c *command) line() line { return line{words: c.argv, verb: c.verb} }

// edit returns what to replace in the line of p for it to have a flag: n words
// from index at on.
func (p part) edit(name string, values []string) (at, n int, words []string) {
	for _, s := range slices.Backward(p.settings) {
		switch {
		case s.form.names[0] == name && s.joined:
			return s.at, 1, []string{s.as + "=" + values[0]}
		case s.form.names[0] == name:
			return s.at, s.words(), append([]string{s.as}, values...)
		case name == "N" && slices.ContainsFunc(s.ours, func(word string) bool { return strings.HasPrefix(word, "--map-by=ppr:") }):
			resource := strings.Split(strings.TrimPrefix(s.values[0], "ppr:"), ":")
			resource[0] = values[0]
			return s.at, s.words(), []string{"--map-by", "ppr:" + strings.Join(resource, ":")}
		case name == "N" && s.form.names[0] == "pernode":
			return s.at, 1, append([]string{spelled(name)}, values...)
		}
	}
	return p.at, 0, append([]string{spelled(name)}, values...)
}

// withFlag returns the line that p stands in with a flag of p's own.
func (p program) withFlag(name string, values ...string) string {
	at, n, words := p.edit(name, values)
	return p.line.with(at, n, words...)
}

// called returns the line that p stands in with another name of the program.
func (p program) called(name string) string { return p.line.with(p.begin, 1, name) }

// surroundings are the flags that make what a rank finds around it: on which
// host it is, its variables and its folder.
var surroundings = []string{
	"hostfile", "H", "local", "launcher", "rsh", "p", "i", "J", "identity-agent", "F", "accept-new-host-keys", "wdir",
	"x", "set-env", "export", "env", "genv", "genvlist", "genvall", "genvnone",
	"env-file", "unset-env", "prepend-env", "append-env", "env-compat", "umask", "iface",
}

// probe returns a command whose ranks, one on each host of the job, run
// another program where one of the job's would.
func (c *command) probe(app int, words ...string) string {
	var argv []string
	take := func(l line, s setting) {
		if slices.Contains(surroundings, s.form.names[0]) {
			argv = append(argv, l.words[s.at:s.at+s.words()]...)
		}
	}
	p := c.programs[app]
	ofLine := p.line.place != ""
	for _, s := range partsOf(c.argv)[0].settings {
		name := s.form.names[0]
		if app == 0 || ofLine || !slices.Contains(ofOneProgram, name) || name == "H" && p.hosts == nil {
			take(line{words: c.argv}, s)
		}
	}
	if app > 0 || ofLine {
		for _, s := range p.settings {
			take(p.line, s)
		}
	}
	if len(c.job.Hosts) > 0 {
		argv = append(argv, "-N", "1")
	}
	return commandLine(append(argv, words...))
}
