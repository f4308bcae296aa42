package main

import (
	"errors"
	"fmt"
	"strings"
)

// value is a flag's [cli.Generic]: it applies to the command the word that
// follows the flag, or the flag itself if none does.
type value struct {
	c    *command
	args string // names the word in help; "" for a switch
	set  func(word string) error
}

// toggle is the value of a flag that no word follows.
func (c *command) toggle(set func()) *value {
	return &value{c, "", func(string) error { set(); return nil }}
}

// Set applies the next of the command's settings. The library makes a string
// of the error, so the command keeps it.
func (v *value) Set(word string) error {
	if len(v.c.pending) == 0 {
		// All were applied. What is left is that the library sets the aliases
		// of every flag that was there to what String returns.
		return nil
	}
	s := v.c.pending[0]
	v.c.pending = v.c.pending[1:]
	if err := v.set(word); err != nil {
		v.c.refused = refusedValue(v.c.programs[len(v.c.programs)-1].line, s, err)
	}
	return v.c.refused
}

// String returns "": no flag has a default that the library should know of.
func (v *value) String() string { return "" }

// IsBoolFlag tells package flag, which parses for the library, that no word
// follows.
func (v *value) IsBoolFlag() bool { return v.args == "" }

// valueError refuses a flag's value. The flag and what was found are added by
// [refusedValue], which knows them.
type valueError struct {
	want    string // what was expected: "a number of ranks from 1 to 8"
	example string // a value that is accepted, or, behind its dashes, other flags with theirs, or a program of [python]'s
}

func (e *valueError) Error() string { return "expected " + e.want }

// refusedValue completes the error of a flag's set with the flag, the value
// and a line that is accepted.
func refusedValue(l line, s setting, err error) error {
	msg, example := fmt.Sprintf("%s: %v", s.as, err), ""
	if bad, ok := errors.AsType[*valueError](err); ok {
		msg, example = fmt.Sprintf("%s, found %q", msg, strings.Join(s.values, " ")), bad.example
	} else if foreign, ok := errors.AsType[*foreignError](err); ok {
		return refusal(s.as+" is not a flag of gorun: "+foreign.why, "without it: "+l.with(s.at, s.words()))
	}
	accepted := strings.Fields(example)
	switch first, rest, _ := strings.Cut(example, " "); {
	case strings.HasPrefix(example, "--"), strings.HasPrefix(example, python):
	case s.joined:
		accepted = append([]string{s.as + "=" + first}, strings.Fields(rest)...)
	default:
		accepted = append([]string{s.as}, accepted...)
	}
	words := s.words()
	if s.bare {
		words = 1
	}
	hints := []string{l.with(s.at, words, accepted...)}
	if !s.joined && !s.bare && strings.HasPrefix(s.form.args, "N") && words == 2 && inPath(s.values[0]) {
		hints = append(hints, "for the program "+s.values[0]+": "+l.with(s.at, 1, accepted...))
	}
	return refusal(msg, hints...)
}
