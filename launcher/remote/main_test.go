package remote

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// For what has no event to wait for: within waitFor, looking every poll.
const (
	waitFor = 30 * time.Second
	poll    = 10 * time.Millisecond
)

// writeFile writes a file below a folder of the test and returns its path.
func writeFile(t testing.TB, name, text string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), mode))
	require.NoError(t, os.Chmod(path, mode)) // whatever the umask
	return path
}

// lookPath skips the test if a program is not installed.
func lookPath(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is not installed", name)
	}
	return path
}
