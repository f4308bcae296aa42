// Package template fills in text what differs from rank to rank: [Fill] makes
// "run.{rank}" of a rank's arguments, variables and file names "run.3".
//
//	{rank}        its number in the job
//	{local_rank}  its number among the ranks of its host
//	{host}        the host's name in the plan
//	{world_size}  the number of ranks
//	{job}         the job's id
//
// {{ stands for one brace. All else stands for itself, a closing brace too.
package template

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gorun/gorun/rankenv"
)

// known lists what can be filled in, for people.
const known = "{rank}, {local_rank}, {host}, {world_size}, {job}, or {{ for a brace"

// Error says where text is no template.
type Error struct {
	Text   string // its beginning
	Column int    // in bytes, from 1
	Found  string // in place of a known name
}

// Error returns, for example, `"x.{rnk}": column 3: expected {rank}, …, found "{rnk}"`.
func (e *Error) Error() string {
	return fmt.Sprintf("%q: column %d: expected %s, found %q", e.Text, e.Column, known, e.Found)
}

// Check returns the [*Error] that [Fill] would.
func Check(text string) error {
	_, err := Fill(text, rankenv.World{})
	return err
}

// Fill returns text with the names in braces replaced by what w says. Its error
// is an [*Error].
func Fill(text string, w rankenv.World) (string, error) {
	if !strings.Contains(text, "{") {
		return text, nil
	}
	var b strings.Builder
	for rest := text; ; {
		before, after, found := strings.Cut(rest, "{")
		b.WriteString(before)
		if !found {
			return b.String(), nil
		}
		if strings.HasPrefix(after, "{") {
			b.WriteByte('{')
			rest = after[1:]
			continue
		}
		name, after, closed := strings.Cut(after, "}")
		value, ok := lookup(name, w)
		if !closed || !ok {
			return "", &Error{shortened(text, 60), len(text) - len(rest) + len(before) + 1, excerpt(rest[len(before):])}
		}
		b.WriteString(value)
		rest = after
	}
}

func lookup(name string, w rankenv.World) (value string, ok bool) {
	switch name {
	case "rank":
		return strconv.Itoa(w.Rank), true
	case "local_rank":
		return strconv.Itoa(w.LocalRank), true
	case "host":
		return w.Host, true
	case "world_size":
		return strconv.Itoa(w.Size), true
	case "job":
		return w.Job, true
	}
	return "", false
}

// excerpt is the beginning of s, to its first closing brace.
func excerpt(s string) string {
	if end := strings.IndexByte(s, '}'); end >= 0 {
		s = s[:end+1]
	}
	return shortened(s, 20)
}

func shortened(s string, limit int) string {
	if len(s) > limit {
		return s[:limit] + "…"
	}
	return s
}
