package stdio_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/launcher/stdio"
)

// tagged returns how a line of rank 3 on node1 begins, and whether the line that
// follows has been left as it was.
func tagged(tag stdio.Tag) (prefix string, ok bool) {
	m := stdio.NewMerger(stdio.Config{Screen: -1, Ranks: []stdio.Rank{3: {Host: "node1", Node: 2, Local: 1}}, Tag: tag})
	at := time.Date(2026, 3, 1, 12, 0, 0, 7_000_000, time.FixedZone("", 3600))
	var got capture
	got.write(m.Add(at, stdio.Chunk{Rank: 3, Time: at, Data: []byte("text\n")}))
	return strings.CutSuffix(got.out.String(), "text\n")
}

func TestParseTag(t *testing.T) {
	tests := map[string]struct{ tag, want string }{
		"none":             {"", ""},
		"usual":            {stdio.HostRank, "node1:3| "},
		"one field":        {"{rank}", "3"},
		"fields in a row":  {"{rank}{rank}{host}", "33node1"},
		"time":             {"{time} {host}:{rank}: ", "2026-03-01T12:00:00.007+01:00 node1:3: "},
		"place on hosts":   {"{node}.{local_rank} ", "2.1 "},
		"text only":        {"> ", "> "},
		"a brace":          {"{{{rank}} ", "{3} "},
		"closing brace":    {"}{rank}", "}3"},
		"an escaped field": {"{{rank}", "{rank}"},
		"not ASCII":        {"«{host}» ", "«node1» "},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, ok := tagged(parseTag(t, test.tag))
			require.True(t, ok)
			require.Equal(t, test.want, got)
		})
	}
}

func TestParseTagRefuses(t *testing.T) {
	tests := map[string]struct{ tag, want string }{
		"unknown name": {"{rank} {hots}| ", `tag "{rank} {hots}| ": column 8: expected {host}, {rank}, {local_rank}, {node} or {time}, found "{hots}"`},
		"empty name":   {"{}", `tag "{}": column 1: expected {host}, {rank}, {local_rank}, {node} or {time}, found "{}"`},
		"upper case":   {"{Rank}", `tag "{Rank}": column 1: expected {host}, {rank}, {local_rank}, {node} or {time}, found "{Rank}"`},
		"open brace":   {"a{rank", `tag "a{rank": column 2: expected } after {, or {{ for a brace, found the end`},
		"last brace":   {"{rank}{", `tag "{rank}{": column 7: expected } after {, or {{ for a brace, found the end`},
		"two lines":    {"{rank}\n", `tag "{rank}\n": column 7: expected one line, found "\n"`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := stdio.ParseTag(test.tag)
			var tagErr *stdio.TagError
			require.ErrorAs(t, err, &tagErr)
			require.EqualError(t, err, test.want)
		})
	}
}

func FuzzParseTag(f *testing.F) {
	for _, s := range []string{"", stdio.HostRank, "{time}{{", "{", "}", "{{host}}", "{x}", "\n", "é{rank}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		tag, err := stdio.ParseTag(s)
		if err != nil {
			var tagErr *stdio.TagError
			require.ErrorAs(t, err, &tagErr)
			require.True(t, 1 <= tagErr.Column && tagErr.Column <= len(s))
			return
		}
		got, ok := tagged(tag)
		require.True(t, ok)
		require.NotContains(t, got, "\n")
		if !strings.Contains(s, "{") {
			require.Equal(t, s, got)
		}
	})
}
