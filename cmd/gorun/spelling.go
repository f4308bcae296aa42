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

// replaced returns a copy of argv with n words from index i on replaced.
func replaced(argv []string, i, n int, words ...string) []string {
	out := append([]string{}, argv[:i]...)
	out = append(out, words...)
	return append(out, argv[i+n:]...)
}

// commandLine returns a command of gorun as one types it into a shell, cut
// where it gets too long to be read.
func commandLine(argv []string) string {
	const enough = 160
	line := "gorun"
	for _, word := range argv {
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
