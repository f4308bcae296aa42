package main

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/internal/shellwords"
)

// meaning is what a flag of another launcher is expected to be here.
type meaning struct {
	where string // the line that says so
	words []string
	ours  string // flags of ours, "no effect" or "refused"
}

// check requires that the words are known and mean the same as ours.
func (m meaning) check(t *testing.T) {
	program := []string{"./x", "--np", "9"}
	c, err := parse(append(m.words, program...))
	if usage, ok := errors.AsType[*usageError](err); ok {
		require.NotContains(t, usage.msg, "unknown flag", m.where)
		require.NotEmpty(t, usage.hints, m.where)
	}
	switch m.ours {
	case "refused":
		require.Error(t, err, m.where)
		return
	case "no effect":
		require.NoError(t, err, m.where)
		require.NotEmpty(t, c.notes, m.where)
		plain, err := parse(program)
		require.NoError(t, err)
		require.Equal(t, meant(plain), meant(c), m.where)
		return
	}
	lines, err2 := appLines("ours", m.ours)
	require.NoError(t, err2, m.where)
	ours, err2 := parse(append(lines[0].words, program...))
	if err2 != nil { // its value is refused: not to be had in other words either
		require.Error(t, err, m.where)
		return
	}
	require.NoError(t, err, m.where)
	require.Equal(t, meant(ours), meant(c), m.where)
}

// meant returns all of a command but how it was typed.
func meant(c *command) command {
	m := *c
	m.argv, m.first, m.programs, m.notes = nil, part{}, nil, nil
	return m
}

// meanings reads lines of words, " => " and what they mean.
func meanings(t *testing.T, name string) (all []meaning) {
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		if line[0] == '#' {
			continue
		}
		words, ours, found := strings.Cut(strings.TrimSpace(line), " => ")
		require.True(t, found, "%s: %s", name, line)
		all = append(all, meaning{filepath.Base(name) + ": " + words, strings.Fields(words), ours})
	}
	return all
}

// Every flag that these launchers document is known: it is ours under one name
// or another, or has no effect and is noted, or is refused with what to type
// instead.
func TestFlagsOfOtherLaunchers(t *testing.T) {
	for _, name := range []string{"openmpi", "hydra", "srun", "python"} {
		t.Run(name, func(t *testing.T) {
			for _, m := range meanings(t, filepath.Join("testdata/foreign", name)) {
				m.check(t)
			}
		})
	}
}

// What a refusal offers to type is not refused for the same flag again.
func TestHintsForFlagsOfOtherLaunchersAreCommands(t *testing.T) {
	typed := 0
	for _, name := range []string{"openmpi", "hydra", "srun", "python"} {
		for _, m := range meanings(t, filepath.Join("testdata/foreign", name)) {
			_, err := parse(append(slices.Clone(m.words), "./x"))
			usage, _ := errors.AsType[*usageError](err)
			if usage == nil {
				continue
			}
			flag, _, _ := strings.Cut(m.words[0], "=")
			for _, hint := range usage.hints {
				_, line, found := strings.Cut(hint, "gorun ")
				if !found || strings.Contains(line, "…") || strings.HasPrefix(line, "help") {
					continue
				}
				command, err := shellwords.Command(line)
				require.NoError(t, err)
				if _, err = parse(command); err != nil {
					require.False(t, strings.HasPrefix(err.Error(), flag), "%s: %s: %v", m.where, hint, err)
				}
				typed++
			}
		}
	}
	require.NotZero(t, typed)
}

// rowOf matches a table's row of what is typed and what it is here: flags of
// ours, or words that begin with "no effect" or "refused".
var rowOf = regexp.MustCompile("^\\| `(-[^`]*)` \\| (?:`(-[^`]*)`|(no effect|refused)[^|]*) \\|")

// What the page for users of other launchers says of their flags is so, and its
// examples are commands.
func TestThePageForUsersOfOtherLaunchers(t *testing.T) {
	text, err := os.ReadFile("../../docs/from-mpirun.md")
	require.NoError(t, err)
	rows, examples, within := 0, 0, false
	for line := range strings.Lines(string(text)) {
		switch {
		case strings.HasPrefix(line, "```"):
			within = !within
		case within:
			words := strings.Fields(line)
			require.Equal(t, "gorun", words[0])
			_, err := parse(words[1:])
			require.NoError(t, err, line)
			examples++
		case strings.HasPrefix(line, "| `-"):
			row := rowOf.FindStringSubmatch(line)
			require.NotNil(t, row, line)
			meaning{"from-mpirun.md: " + row[1], strings.Fields(row[1]), row[2] + row[3]}.check(t)
			rows++
		}
	}
	require.NotZero(t, rows)
	require.NotZero(t, examples)
}
