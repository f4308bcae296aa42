// Package envvar has what launcher and agents ask of environment variables, so
// that both answer alike.
package envvar

import (
	"path"
	"slices"
	"strings"
)

// Name returns the name of an entry "NAME=value", or all of one without "=".
func Name(entry string) string {
	name, _, _ := strings.Cut(entry, "=")
	return name
}

// MatchesAny reports whether one of the patterns [Matches] name.
func MatchesAny(name string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return Matches(p, name) })
}

// Matches is path.Match, but that it is fast for what most patterns are, names
// and beginnings of names, since every variable is compared with dozens, and
// that a "*" at the end takes slashes too: names are no paths. A malformed
// pattern matches nothing.
func Matches(pattern, name string) bool {
	if pattern != "" && name != "" && pattern[0] != name[0] && strings.IndexByte(meta, pattern[0]) < 0 {
		return false
	}
	i := strings.IndexAny(pattern, meta)
	switch {
	case i < 0:
		return pattern == name
	case !strings.HasPrefix(name, pattern[:i]):
		return false
	case pattern[i:] == "*":
		return true
	}
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}

// meta are the characters that mean something in a pattern.
const meta = `*?[\`
