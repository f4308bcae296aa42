package main

import (
	"slices"
	"strings"
)

// spelled returns the flag of that name behind as many dashes as it is usually
// written with.
func spelled(name string) string {
	if len(name) <= 2 || slices.Contains(oneDash, name) {
		return "-" + name
	}
	return "--" + name
}

// oneDash are the long names that users know behind one dash.
var oneDash = []string{"ppn", "hostfile", "host", "hosts", "wdir", "genv", "env", "genvlist", "envlist", "genvall", "genvnone", "envall", "envnone"}

// A line is words that were typed together: a command, or a line of a file.
type line struct {
	place string // "jobs:3" in a file; "": the command line
	verb  string // whose words these are; "": a job's
	words []string
}

func (l line) kind() string {
	if l.place != "" {
		return "line"
	}
	return "command"
}

// with returns the line with n words from index i on replaced, as one types it.
func (l line) with(i, n int, words ...string) string {
	return l.typed(replaced(l.words, i, n, words...))
}

// typed returns other words in the place of l's, as one types them.
func (l line) typed(words []string) string {
	switch {
	case l.place != "":
		return typed(l.place+":", words)
	case l.verb != "":
		return typed("gorun "+l.verb, words)
	}
	return commandLine(words)
}

// replaced returns a copy of argv with n words from index i on replaced.
func replaced(argv []string, i, n int, words ...string) []string {
	return slices.Concat(argv[:i], words, argv[i+n:])
}

// commandLine returns a command of gorun as one types it into a shell.
func commandLine(argv []string) string { return typed("gorun", argv) }

// typed returns words as one types them into a shell behind lead, cut where
// that gets too long to be read.
func typed(lead string, words []string) string {
	const enough = 160
	line := lead
	for _, word := range words {
		if len(line)+1+len(word) > enough {
			return line + " …"
		}
		line += " " + quoted(word)
	}
	return line
}

// quoted returns a word as one types it into a POSIX shell.
func quoted(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			strings.ContainsRune("_@%+=:,./-…", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
