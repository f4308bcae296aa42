//go:build linux

package agent

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestExiting(t *testing.T) {
	require.False(t, exiting(os.Getpid()))
	cmd := exec.Command("true")
	require.NoError(t, cmd.Start())
	// Not waited for, it becomes a zombie.
	require.Eventually(t, func() bool { return exiting(cmd.Process.Pid) }, 10*time.Second, time.Millisecond)
	require.NoError(t, cmd.Wait())
	require.False(t, exiting(cmd.Process.Pid))
}
