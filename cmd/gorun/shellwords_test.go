package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestShellWords(t *testing.T) {
	for s, want := range map[string][]string{
		"":                          nil,
		" \t\n":                     nil,
		"a  b\tc\nd":                {"a", "b", "c", "d"},
		`'' ""`:                     {"", ""},
		`a'b c'"d e"f\ g`:           {"ab cd ef g"},
		`'$x \n' "\$x \n \" \\ \a"`: {`$x \n`, `$x \n " \ \a`},
		`--log=v.{rank} *;&|`:       {"--log=v.{rank}", "*;&|"},
		"a\\\nb \"c\\\nd\"":         {"ab", "cd"},
		"\\\n":                      nil,
	} {
		got, err := shellWords(s)
		require.NoError(t, err, "%q", s)
		require.Equal(t, want, got, "%q", s)
	}
	for _, s := range []string{`'a`, `"a`, `a\`, `"a\"`} {
		_, err := shellWords(s)
		require.Error(t, err, "%q", s)
	}
}

// What a shell would not expand, it splits in the same way.
func TestShellWordsAgreeWithTheShell(t *testing.T) {
	for _, s := range []string{
		`a b`, `'a b' "c d" e\ f`, `x'y'"z"`, `"" ''`, `"\\ \" \$ \x" '\'`, "a\\\nb", `a\\b`, `é 'ü'`,
	} {
		out, err := exec.Command("/bin/sh", "-c", `printf '%s\0' `+s).Output()
		require.NoError(t, err)
		got, err := shellWords(s)
		require.NoError(t, err)
		require.Equal(t, strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"), got, "%q", s)
	}
}

func FuzzShellWords(f *testing.F) {
	f.Add(`a 'b c' "d\"e" f\ g`)
	f.Add(`'`)
	f.Add("\\\n")
	f.Fuzz(func(t *testing.T, s string) {
		words, err := shellWords(s)
		if err != nil {
			return
		}
		var again strings.Builder
		for _, w := range words {
			again.WriteString("'" + strings.ReplaceAll(w, "'", `'\''`) + "' ")
		}
		reread, err := shellWords(again.String())
		require.NoError(t, err)
		require.Equal(t, words, reread)
	})
}
