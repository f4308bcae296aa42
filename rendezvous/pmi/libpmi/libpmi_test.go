package libpmi_test

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// compiler returns what a library says of the compiler that made it.
func compiler(t *testing.T, library string) string {
	t.Helper()
	f, err := elf.Open(library)
	require.NoError(t, err)
	defer f.Close()
	comment, err := f.Section(".comment").Data()
	require.NoError(t, err)
	return string(comment)
}

func TestLibrariesAreBuiltFromTheirSource(t *testing.T) {
	for arch, gcc := range map[string]string{"amd64": "x86_64-linux-gnu-gcc", "arm64": "aarch64-linux-gnu-gcc"} {
		t.Run(arch, func(t *testing.T) {
			if _, err := exec.LookPath(gcc); err != nil {
				t.Skip(err)
			}
			kept, built := "libpmi_"+arch+".so", filepath.Join(t.TempDir(), "libpmi.so")
			said, err := exec.Command("sh", "src/build.sh", arch, built).CombinedOutput()
			require.NoError(t, err, "%s", said)
			if was, is := compiler(t, kept), compiler(t, built); was != is {
				t.Skipf("%s was made by %q, and this compiler is %q", kept, was, is)
			}
			want, err := os.ReadFile(built)
			require.NoError(t, err)
			have, err := os.ReadFile(kept)
			require.NoError(t, err)
			require.Equal(t, want, have, "%s is not of this source: go generate", kept)
		})
	}
}
