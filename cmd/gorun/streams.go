package main

import (
	"cmp"
	"errors"
	"maps"
	"os"
	"slices"
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

// directives are those of Open MPI 5's --output, and its qualifiers, that mean
// something here, in our words.
var directives = map[string]string{
	"tag":                    "--l",
	"timestamp":              "--timestamp",
	"merge":                  "--merge-stderr",
	"merge-stderr-to-stdout": "--merge-stderr",
	"raw":                    "--raw",
	"nocopy":                 "--output-only",
	"copy":                   "", // what we do anyway
}

// outputDirectives says Open MPI 5's --output in our flags.
func outputDirectives(values []string) (ours []string, err error) {
	for _, word := range strings.FieldsFunc(values[0], func(r rune) bool { return r == ',' || r == ':' }) {
		name, dir, _ := strings.Cut(word, "=")
		meant, known := directives[strings.ToLower(word)]
		switch {
		case strings.EqualFold(name, "dir") && dir != "":
			ours = append(ours, "--output-dir="+dir)
		case !known:
			return nil, &valueError{"tag, timestamp, merge, raw, copy, nocopy and dir=DIR (files as srun has them: --output-dir DIR, or gorun … >F)",
				cmp.Or(nearest(word, slices.Sorted(maps.Keys(directives))), "tag,dir=out:nocopy")}
		case meant != "":
			ours = append(ours, meant)
		}
	}
	return ours, nil
}

// standardInput reads who reads standard input.
func standardInput(to *string) func(string) error {
	return func(s string) error {
		if s != "all" && s != "none" && number(new(int), 0, maxRanks-1, "", "")(s) != nil {
			return &valueError{"a rank, all or none", closest(s, []string{"all", "none"})}
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

// connectStreams connects the ranks to our standard streams.
func (c *command) connectStreams(con *console) {
	s := &c.job.Streams
	if !c.outputOnly {
		s.Stdout, s.Stderr = os.Stdout, con
	}
	if c.hostfile != "-" && c.rankfile != "-" && c.stdin != "none" {
		s.Stdin = ranksInput(os.Stdin)
	}
}
