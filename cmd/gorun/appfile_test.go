package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAppLines(t *testing.T) {
	tests := []struct {
		name, text string
		want       []string // place and words of every line
	}{
		{"none", "", nil},
		{"comments and blank lines", "# a\n\n \t # b\n", nil},
		{"no newline at the end", "-np 2 ./a", []string{`f:1 ["-np" "2" "./a"]`}},
		{"lines", "./a x\n\n./b\ty  z \n", []string{`f:1 ["./a" "x"]`, `f:3 ["./b" "y" "z"]`}},
		{"a comment behind a program", "./a # b\n./a#b #\n", []string{`f:1 ["./a"]`, `f:2 ["./a#b"]`}},
		{"carriage returns and a byte order mark", "\ufeff./a x\r\n./b\r\n", []string{`f:1 ["./a" "x"]`, `f:2 ["./b"]`}},
		{"single quotation marks", `./a 'x  "y" \z' '' b'c d'e`, []string{`f:1 ["./a" "x  \"y\" \\z" "" "bc de"]`}},
		{"double quotation marks", `./a "x 'y' \"z\" \\ \n" ""`, []string{`f:1 ["./a" "x 'y' \"z\" \\ \\n" ""]`}},
		{"backslashes", `./a x\ y \# \' \\`, []string{`f:1 ["./a" "x y" "#" "'" "\\"]`}},
		{"a line goes on", "./a \\\n  x\\\ny\n./b", []string{`f:1 ["./a" "xy"]`, `f:4 ["./b"]`}},
		{"nothing is replaced or split", "./a $HOME * : ; ~", []string{`f:1 ["./a" "$HOME" "*" ":" ";" "~"]`}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			lines, err := appLines("f", test.text)
			require.NoError(t, err)
			var got []string
			for _, l := range lines {
				got = append(got, fmt.Sprintf("%s %q", l.place, l.words))
			}
			require.Equal(t, test.want, got)
		})
	}
}

func TestAppLinesRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"./a\n./b 'x\n'":    "f:2:5: expected a closing '",
		`./a "x\"`:          `f:1:5: expected a closing "`,
		"./a \\":            `f:1:5: expected a character behind "\", found the end`,
		"./a \\\n  'x":      "f:2:3: expected a closing '",
		"# 'fine'\n\t\"bad": `f:2:2: expected a closing "`,
	} {
		_, err := appLines("f", text)
		require.ErrorContains(t, err, want, "%q", text)
	}
}

// A line that is written with every word quoted is read as it was.
func FuzzAppLines(f *testing.F) {
	for _, seed := range []string{"-np 2 ./a", "'a' \"b\" c\\ d # e", "a \\\n b\r\n", "\ufeffa\x00", "'", "\\"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		lines, err := appLines("f", text)
		if err != nil {
			_, ok := errors.AsType[*usageError](err)
			require.True(t, ok, "%v", err)
			return
		}
		for _, l := range lines {
			require.NotEmpty(t, l.words)
			var again []string
			for _, w := range l.words {
				if strings.ContainsAny(w, "\n") {
					return // no line can say it
				}
				again = append(again, "'"+strings.ReplaceAll(w, "'", `'\''`)+"'")
			}
			read, err := appLines("f", strings.Join(again, " "))
			require.NoError(t, err)
			require.Len(t, read, 1)
			require.True(t, slices.Equal(l.words, read[0].words), "%q, %q", l.words, read[0].words)
		}
	})
}
