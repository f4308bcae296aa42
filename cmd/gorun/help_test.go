package main

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/internal/shellwords"
)

// What stands behind flags is in testdata/topics as users see it. A change is
// reviewed there: write what the failure shows.
func TestTopics(t *testing.T) {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(topics)) {
		about, err := helpOn(name)
		require.NoError(t, err)
		require.Contains(t, about, "\n\n    ", "%s", name)
		text.WriteString(about + "\n")
		for line := range strings.Lines(topics[name]) {
			require.LessOrEqual(t, len(strings.TrimSpace(line)), 92, line)
			if words := strings.Fields(line); words[0] == "gorun" {
				command, err := shellwords.Command(strings.TrimPrefix(line, "gorun "))
				require.NoError(t, err)
				_, err = parse(command)
				require.NoError(t, err, line)
			}
		}
	}
	want, err := os.ReadFile("testdata/topics")
	require.NoError(t, err)
	require.Equal(t, string(want), text.String())
}

// Every flag that is understood, noted or refused can be asked about, and what is
// said of it fits the page.
func TestHelpKnowsEveryFlag(t *testing.T) {
	for _, f := range newGrammar(newCommand(nil).flags()) {
		for _, name := range f.names {
			about, err := helpOn("--" + name)
			require.NoError(t, err, name)
			require.Contains(t, about, spelled(name))
		}
	}
	for _, verb := range append(slices.Clone(comingVerbs), "run", "clean", "help", "version", "completion", "agent", "-c") {
		about, err := helpOn(verb)
		require.NoError(t, err)
		require.Contains(t, about, verb)
	}
}
