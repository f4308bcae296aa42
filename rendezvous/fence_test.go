package rendezvous_test

import (
	"errors"
	"go/build"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// User programs import rendezvous, so it must cost them nothing but itself.
func TestImportsStandardLibraryAndRankenvOnly(t *testing.T) {
	for _, dir := range []string{".", "internal/accept", "internal/codec", "internal/socketpair"} {
		for _, system := range []string{"linux", "darwin"} {
			ctx := build.Default
			ctx.GOOS = system
			pkg, err := ctx.ImportDir(dir, 0)
			if _, none := errors.AsType[*build.NoGoError](err); none {
				continue // it is for another system
			}
			require.NoError(t, err)
			for _, path := range pkg.Imports {
				own := path == "github.com/gorun/gorun/rankenv" || strings.HasPrefix(path, "github.com/gorun/gorun/rendezvous/internal/")
				first, _, _ := strings.Cut(path, "/")
				require.True(t, own || !strings.Contains(first, "."), "%s imports %s", pkg.ImportPath, path)
				require.NotEqual(t, "C", path)
			}
		}
	}
}
