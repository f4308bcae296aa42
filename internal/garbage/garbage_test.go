package garbage_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/internal/garbage"
)

func TestInputsAreNoTruths(t *testing.T) {
	truths := [][]byte{{1}, []byte("magic and length"), make([]byte, 4)}
	seen := 0
	for b := range garbage.Inputs(10_000, truths...) {
		seen++
		require.NotEmpty(t, b)
		require.False(t, slices.ContainsFunc(truths, func(truth []byte) bool { return slices.Equal(truth, b) }), "%q", b)
	}
	require.Equal(t, 10_000, seen)
	require.Equal(t, slices.Collect(garbage.Inputs(100, truths...)), slices.Collect(garbage.Inputs(100, truths...)))
}
