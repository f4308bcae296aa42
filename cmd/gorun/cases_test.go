package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The tests that docs/cases.md names are there.
func TestThePageOfCasesNamesTests(t *testing.T) {
	text, err := os.ReadFile("../../docs/cases.md")
	require.NoError(t, err)
	named := regexp.MustCompile("`(script/|[a-z/]+\\.)([A-Za-z0-9]+)`")
	found := 0
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 6 {
			continue
		}
		for _, test := range named.FindAllStringSubmatch(cells[4], -1) {
			found++
			if test[1] == "script/" {
				require.FileExists(t, filepath.Join("testdata/script", test[2]+".txtar"), line)
				continue
			}
			folder := filepath.Join("../..", strings.TrimSuffix(test[1], "."))
			require.True(t, declares(t, folder, test[2]), "%s: %s is not in %s", line, test[2], folder)
		}
	}
	require.NotZero(t, found)
}

// declares reports whether a test file in the folder has a function of that name.
func declares(t *testing.T, folder, name string) bool {
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	require.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		if strings.Contains(string(text), "\nfunc "+name+"(") {
			return true
		}
	}
	return false
}
