package gossip_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// If memberlist ever has to go, this package alone is rewritten.
func TestMemberlistIsImportedHereOnly(t *testing.T) {
	root := filepath.Join("..", "..")
	files := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return nil // the compiler will say so
		}
		for _, spec := range f.Imports {
			if strings.Contains(spec.Path.Value, "hashicorp/memberlist") {
				files++
				require.Equal(t, filepath.Join(root, "rendezvous", "gossip"), filepath.Dir(path), path)
			}
		}
		return nil
	})
	require.NoError(t, err)
	require.NotZero(t, files)
}
