package main

import (
	"errors"
	"strconv"
	"strings"

	"github.com/gorun/gorun/launcher"
	"github.com/gorun/gorun/launcher/stdio"
)

// tag reads what goes before each line.
func tag(to *string) func(string) error {
	return func(s string) error {
		_, err := stdio.ParseTag(s)
		if bad, ok := errors.AsType[*stdio.TagError](err); ok {
			return &valueError{"a tag with " + bad.Want + " at column " + strconv.Itoa(bad.Column), "{host}:{rank}:"}
		}
		*to = s
		return err
	}
}

// hydraTag says one of Hydra's patterns as a tag of ours.
func hydraTag(pattern string) (string, error) {
	ours := map[byte]string{'r': "{rank}", 'h': "{host}", 'p': "{node}", 't': "{time}", '%': "%"}
	var tag strings.Builder
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '{':
			tag.WriteString("{{")
		case c != '%':
			tag.WriteByte(c)
		default:
			i++
			if i == len(pattern) || ours[pattern[i]] == "" {
				return "", &valueError{"%r, %h, %p, %t or %% behind each %", "%r@%h:"}
			}
			tag.WriteString(ours[pattern[i]])
		}
	}
	return tag.String(), nil
}

// standardInput reads who reads standard input.
func standardInput(to *string) func(string) error {
	return func(s string) error {
		if s != "all" && s != "none" && number(new(int), 0, maxRanks-1, "", "")(s) != nil {
			return &valueError{"a rank, all or none", "all"}
		}
		*to = s
		return nil
	}
}

// completeStreams says in the job what several flags about streams mean
// together.
func (c *command) completeStreams() {
	s := &c.job.Streams
	if t, err := stdio.ParseTag(s.Tag); c.timestamp && err == nil && !t.Timed() {
		s.Tag = "{time} " + s.Tag
	}
	switch {
	case c.stdin == "all":
		s.StdinTo = launcher.AllRanks
	case c.stdin != "" && c.stdin != "none":
		s.StdinTo, _ = strconv.Atoi(c.stdin) // was read before
	case len(s.PTY) > 0:
		s.StdinTo = s.PTY[0]
	}
}
