package shellwords_test

import (
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/internal/shellwords"
)

func TestCommand(t *testing.T) {
	for text, want := range map[string][]string{
		"":                          nil,
		" \t\n":                     nil,
		"a  b\tc\nd":                {"a", "b", "c", "d"},
		`'' ""`:                     {"", ""},
		`a'b c'"d e"f\ g`:           {"ab cd ef g"},
		`'$x \n' "\$x \n \" \\ \a"`: {`$x \n`, `$x \n " \ \a`},
		`--log=v.{rank} * ~ ?`:      {"--log=v.{rank}", "*", "~", "?"},
		"a\\\nb \"c\\\nd\" 'e\nf'":  {"ab", "cd", "e\nf"},
		"\\\n":                      nil,
		"a # b\nc#d \\#e":           {"a", "c#d", "#e"},
		`a '$HOME;|&<>()' \$b \;`:   {"a", "$HOME;|&<>()", "$b", ";"},
	} {
		got, err := shellwords.Command(text)
		require.NoError(t, err, "%q", text)
		require.Equal(t, want, got, "%q", text)
	}
}

func TestCommandRefuses(t *testing.T) {
	for text, want := range map[string]string{
		`a 'b`:      "expected a closing ', found the end",
		`a "b\"`:    `expected a closing ", found the end`,
		`a\`:        `expected a character behind "\", found the end`,
		"a; b":      "no shell runs it, so that ; in it needs single quotation marks",
		`a "$HOME"`: "so that $ in it",
		"a b|c":     "so that | in it",
		"a >b":      "so that > in it",
		"a `b`":     "so that ` in it",
		"(a)":       "so that ( in it",
	} {
		_, err := shellwords.Command(text)
		require.ErrorContains(t, err, want, "%q", text)
	}
}

func TestLine(t *testing.T) {
	const text = "a $HOME \\\n  'b ;' # c\nd"
	words, n, err := shellwords.Line(text)
	require.NoError(t, err)
	require.Equal(t, []string{"a", "$HOME", "b ;"}, words)
	require.Equal(t, "d", text[n:])

	_, _, err = shellwords.Line("a 'b\nc'")
	var bad *shellwords.Error
	require.ErrorAs(t, err, &bad)
	require.Equal(t, 2, bad.Offset)
	require.EqualError(t, err, "expected a closing ', found the end of the line")
}

// What a shell would not expand, it splits in the same way.
func TestCommandAgreesWithTheShell(t *testing.T) {
	for _, text := range []string{
		`a b`, `'a b' "c d" e\ f`, `x'y'"z"`, `"" ''`, `"\\ \" \$ \x" '\'`, "a\\\nb", `a\\b`, `é 'ü'`, `a#b # c`,
	} {
		out, err := exec.Command("/bin/sh", "-c", `printf '%s\0' `+text).Output()
		require.NoError(t, err)
		got, err := shellwords.Command(text)
		require.NoError(t, err)
		require.Equal(t, strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"), got, "%q", text)
	}
}

// Words that are quoted come back as they were.
func FuzzCommand(f *testing.F) {
	for _, seed := range []string{`a 'b c' "d\"e" f\ g`, `'`, "\\\n", "$x", "# a\nb", `\`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		words, err := shellwords.Command(text)
		if err != nil {
			bad, ok := errors.AsType[*shellwords.Error](err)
			require.True(t, ok)
			require.Less(t, bad.Offset, len(text))
			return
		}
		var again strings.Builder
		for _, w := range words {
			again.WriteString("'" + strings.ReplaceAll(w, "'", `'\''`) + "' ")
		}
		reread, err := shellwords.Command(again.String())
		require.NoError(t, err)
		require.Equal(t, words, reread)
	})
}
