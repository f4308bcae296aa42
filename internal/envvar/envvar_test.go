package envvar_test

import (
	"path"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gorun/gorun/internal/envvar"
)

func TestMatchesAgreesWithPathMatch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.StringMatching(`[AB]{0,2}[AB*?\[\]\\^-]{0,4}`).Draw(t, "pattern")
		name := rapid.StringMatching(`[AB]{0,5}`).Draw(t, "name")
		want, err := path.Match(pattern, name)
		require.Equal(t, want && err == nil, envvar.Matches(pattern, name))
	})
}

func TestNamesAreNoPaths(t *testing.T) {
	require.True(t, envvar.Matches("A*", "A/B"))
	require.True(t, envvar.MatchesAny("BASH_FUNC_a/b%%", []string{"X", "BASH_FUNC_*"}))
	require.False(t, envvar.MatchesAny("A", nil))
}

func TestName(t *testing.T) {
	require.Equal(t, "A", envvar.Name("A=b=c"))
	require.Equal(t, "A", envvar.Name("A"))
}
