package rendezvous_test

import (
	"go/build"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// User programs import rendezvous, so it must cost them nothing but itself.
func TestImportsStandardLibraryAndRankenvOnly(t *testing.T) {
	for _, dir := range []string{".", "internal/codec"} {
		for _, system := range []string{"linux", "darwin"} {
			ctx := build.Default
			ctx.GOOS = system
			pkg, err := ctx.ImportDir(dir, 0)
			require.NoError(t, err)
			for _, path := range pkg.Imports {
				own := path == "github.com/gorun/gorun/rankenv" || path == "github.com/gorun/gorun/rendezvous/internal/codec"
				first, _, _ := strings.Cut(path, "/")
				require.True(t, own || !strings.Contains(first, "."), "%s imports %s", pkg.ImportPath, path)
				require.NotEqual(t, "C", path)
			}
		}
	}
}
