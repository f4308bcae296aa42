package stdio

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// HostRank is the usual tag.
const HostRank = "{host}:{rank}| "

// timeLayout has a fixed width, so that tagged lines stay aligned.
const timeLayout = "2006-01-02T15:04:05.000Z07:00"

// Rank is what a tag can say of the rank whose line it begins, beside its
// number and the time.
type Rank struct {
	Host  string // name
	Node  int    // index of the host in the job
	Local int    // local rank
}

// Tag is what goes before each line: text in which the rank's place and the time
// at which the agent read the line are filled in. The zero Tag is no tag.
type Tag struct {
	parts []part
	timed bool // one of the parts is the time
}

// part is a piece of text, or a field to fill in.
type part struct {
	text  string
	field field
}

type field int

const (
	literal field = iota
	hostField
	rankField
	localRankField
	nodeField
	timeField
)

var fields = map[string]field{
	"host": hostField, "rank": rankField, "local_rank": localRankField, "node": nodeField, "time": timeField,
}

// wantField is what [ParseTag] expects between braces.
const wantField = "{host}, {rank}, {local_rank}, {node} or {time}"

// TagError says where a tag cannot be read.
type TagError struct {
	Tag    string
	Column int // in bytes, from 1
	Want   string
	Found  string
}

// Error returns "tag "{hots}| ": column 1: expected …, found …".
func (e *TagError) Error() string {
	return fmt.Sprintf("tag %q: column %d: expected %s, found %s", e.Tag, e.Column, e.Want, e.Found)
}

// ParseTag reads a tag such as [HostRank]. {host}, {rank}, {local_rank}, {node},
// the index of the host in the job, and {time} are filled in, the time as in
// 2006-01-02T15:04:05.000Z; {{ stands for one brace, and all else for itself.
// The empty string gives the zero Tag. A tag of several lines, an unknown name
// or a missing brace is a [*TagError].
func ParseTag(s string) (Tag, error) {
	var t Tag
	fail := func(at int, want, found string) (Tag, error) {
		return Tag{}, &TagError{Tag: s, Column: at + 1, Want: want, Found: found}
	}
	if i := strings.IndexAny(s, "\r\n"); i >= 0 {
		return fail(i, "one line", strconv.Quote(s[i:i+1]))
	}
	for i := 0; i < len(s); {
		text, rest := s[i:], ""
		if brace := strings.IndexByte(text, '{'); brace >= 0 {
			text, rest = text[:brace], text[brace:]
		}
		if text != "" {
			t.parts = append(t.parts, part{text: text})
			i += len(text)
		}
		switch {
		case rest == "":
		case strings.HasPrefix(rest, "{{"):
			t.parts = append(t.parts, part{text: "{"})
			i += len("{{")
		default:
			name, _, closed := strings.Cut(rest[1:], "}")
			if !closed {
				return fail(i, "} after {, or {{ for a brace", "the end")
			}
			f, known := fields[name]
			if !known {
				return fail(i, wantField, strconv.Quote("{"+name+"}"))
			}
			t.parts = append(t.parts, part{field: f})
			t.timed = t.timed || f == timeField
			i += len(name) + len("{}")
		}
	}
	return t, nil
}

// Timed reports whether {time} is in the tag.
func (t Tag) Timed() bool { return t.timed }

func (t Tag) empty() bool { return len(t.parts) == 0 }

// appendTo appends the tag of a line that a rank wrote, read at the time at.
func (t Tag) appendTo(b []byte, number int, rank Rank, at time.Time) []byte {
	for _, p := range t.parts {
		switch p.field {
		case literal:
			b = append(b, p.text...)
		case hostField:
			b = append(b, rank.Host...)
		case rankField:
			b = strconv.AppendInt(b, int64(number), 10)
		case localRankField:
			b = strconv.AppendInt(b, int64(rank.Local), 10)
		case nodeField:
			b = strconv.AppendInt(b, int64(rank.Node), 10)
		case timeField:
			b = at.AppendFormat(b, timeLayout)
		}
	}
	return b
}
