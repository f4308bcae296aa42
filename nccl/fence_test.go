package nccl_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/gorun/gorun/"

// imports returns the imports of every file of nccl and below that is no test, by path.
func imports(t *testing.T) map[string][]string {
	files := make(map[string][]string)
	require.NoError(t, filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		files[path] = nil
		for _, i := range f.Imports {
			name, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return err
			}
			files[path] = append(files[path], name)
		}
		return nil
	}))
	return files
}

func TestFences(t *testing.T) {
	for path, names := range imports(t) {
		dir := filepath.ToSlash(filepath.Dir(path))
		for _, name := range names {
			own := strings.TrimPrefix(name, module)
			isOwn := own != name

			require.False(t, isOwn && (strings.HasPrefix(own, "launcher") || strings.HasPrefix(own, "rendezvous/")),
				"%s imports %s: programs under any launcher import nccl, and it runs without gorun's", path, name)
			if own == "rankenv" || own == "rendezvous" {
				require.Equal(t, "world.go", path, "%s imports %s: one file knows where ranks meet by default, so that it can be left out", path, name)
			}
			if name == "C" {
				require.Contains(t, []string{"internal/libnccl", "internal/libcuda", "internal/libnvml"}, dir,
					"%s uses cgo: everything else builds without a C compiler", path)
			}
			if dir == "internal/host/sched" {
				first, _, _ := strings.Cut(name, "/")
				require.NotContains(t, []string{"net", "os", "time", "sync", "context", "io", "runtime", "syscall"}, first,
					"%s imports %s: plans are values, with no I/O, goroutine or clock", path, name)
			}
			if dir == "internal/core" {
				require.False(t, isOwn, "%s imports %s: engines and nccl both stand on core", path, name)
			}
			if strings.HasPrefix(dir, "internal/host") {
				below := own == "nccl/internal/core" || strings.HasPrefix(own, "nccl/internal/host/")
				require.True(t, !isOwn || below, "%s imports %s: an engine knows core and what lies below itself", path, name)
			}
		}
	}
}

// Outside the standard library there are two helpers of the Go project.
func TestDependencies(t *testing.T) {
	allowed := []string{"golang.org/x/sync/errgroup", "golang.org/x/sys/unix"}
	for path, names := range imports(t) {
		for _, name := range names {
			first, _, _ := strings.Cut(name, "/")
			require.True(t, !strings.Contains(first, ".") || strings.HasPrefix(name, module) || slices.Contains(allowed, name), "%s imports %s", path, name)
		}
	}
}
