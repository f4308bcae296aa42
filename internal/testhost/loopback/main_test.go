package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheCommandFindsItsHosts(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	status, err := run(2, 3, []string{"sh", "-c", `cat "$GORUN_HOSTFILE" "$TESTHOST_SSH_CONFIG" > ` + out + `; exit 7`})
	require.NoError(t, err)
	require.Equal(t, 7, status)
	b, err := os.ReadFile(out)
	require.NoError(t, err)
	require.Regexp(t, `(?m)^127\.0\.0\.2 port=\d+ user=\S+ key=\S+ slots=3$`, string(b))
	require.Regexp(t, `(?m)^127\.0\.0\.3 .* slots=3$`, string(b))
	require.Regexp(t, `(?m)^Host 127\.0\.0\.3$`, string(b))
}

func TestACommandThatCannotRun(t *testing.T) {
	status, err := run(1, 0, []string{"/no/such/program"})
	require.ErrorContains(t, err, "/no/such/program")
	require.Equal(t, 125, status)
}
