package main

import (
	"fmt"
	"slices"
	"strings"
)

// What a command line says in vain is noted once: flags that have no effect here,
// and values that a later one of the same flag takes the place of.

// idle are flags that have no effect for one reason.
type idle struct {
	flags []string // as written
	why   string
}

// unneededFlag adds a flag to those that have no effect for the same reason.
func unneededFlag(all []idle, as, why string) []idle {
	for i := range all {
		if all[i].why == why {
			if !slices.Contains(all[i].flags, as) {
				all[i].flags = append(all[i].flags, as)
			}
			return all
		}
	}
	return append(all, idle{[]string{as}, why})
}

func (i idle) note() string {
	if len(i.flags) == 1 {
		return i.flags[0] + " has no effect: " + i.why
	}
	return strings.Join(i.flags, ", ") + " have no effect: " + i.why
}

// additive are the flags of which each mention counts.
var additive = []string{
	"H", "exclude", "x", "set-env", "env-file", "unset-env", "prepend-env", "append-env", "rlimit", "stage-file",
}

// opposite are switches that take each other back.
var opposite = map[string]string{"nooversubscribe": "oversubscribe", "q": "v"}

// overridden notes which settings a later one replaces with another value.
func overridden(settings []setting) (notes []string) {
	type said struct {
		as   string
		word string // in our form
	}
	last := map[string]said{}
	for _, s := range settings {
		for _, word := range s.ours {
			name, value, _ := strings.Cut(strings.TrimPrefix(word, "--"), "=")
			if strings.HasPrefix(word, note) || slices.Contains(additive, name) || name == "map-by" && strings.HasPrefix(value, ":") {
				continue
			}
			if taken := opposite[name]; taken != "" {
				name = taken
			}
			before, found := last[name]
			now := said{strings.Join(append([]string{s.as}, s.values...), " "), word}
			if found && before.word != now.word {
				notes = append(notes, fmt.Sprintf("of %s and %s the last one counts", before.as, now.as))
			}
			last[name] = now
		}
	}
	return notes
}
