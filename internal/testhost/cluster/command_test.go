//go:build linux

package cluster_test

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gorun/gorun/internal/testhost/cluster"
	"github.com/stretchr/testify/require"
)

func TestCommandIsAnOrdinaryChild(t *testing.T) {
	c := cluster.New(t, cluster.Config{})

	t.Run("streams and environment", func(t *testing.T) {
		cmd := c.Command(t.Context(), "sh", "-c", "cat; echo $USER $HOME $X; pwd; echo err >&2")
		cmd.Stdin = strings.NewReader("in\n")
		cmd.Env = append(cmd.Env, "X=y")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err)
		require.Equal(t, "in\ngorun /home/gorun y\n/home/gorun\nerr\n", string(out))
	})
	t.Run("status", func(t *testing.T) {
		err := c.Command(t.Context(), "sh", "-c", "exit 7").Run()
		var exit *exec.ExitError
		require.ErrorAs(t, err, &exit)
		require.Equal(t, 7, exit.ExitCode())
	})
	t.Run("signal", func(t *testing.T) {
		cmd := c.Command(t.Context(), "sh", "-c", "trap 'exit 3' INT; echo ready; while :; do read x; done")
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		hold, err := cmd.StdinPipe()
		require.NoError(t, err)
		defer hold.Close()
		require.NoError(t, cmd.Start())
		line, err := bufio.NewReader(out).ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, "ready\n", line)
		require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
		require.ErrorContains(t, cmd.Wait(), "exit status 3")
	})
	t.Run("context", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cmd := c.Command(ctx, "sleep", "1000")
		require.NoError(t, cmd.Start())
		cancel()
		require.ErrorContains(t, cmd.Wait(), "signal: killed")
	})
	t.Run("unknown program and user", func(t *testing.T) {
		_, err := c.Head.Run(t.Context(), cluster.User, "no-such-program")
		require.ErrorIs(t, err, exec.ErrNotFound)
		_, err = c.Head.Run(t.Context(), "eve", "true")
		require.ErrorContains(t, err, `user "eve" on head: expected gorun or root`)
	})
}

func TestProcessesAreSeenAndSignalled(t *testing.T) {
	c := cluster.New(t, cluster.Config{Hosts: 2})
	a, b := c.Hosts[0], c.Hosts[1]

	for _, h := range append(c.Hosts, c.Head) {
		idle, err := h.Processes()
		require.NoError(t, err)
		require.Empty(t, idle)
	}

	// The login ends and the process stays: an orphan in a session of its own.
	out, err := c.Command(t.Context(), "ssh", "node1", "setsid sleep 1234 </dev/null >/dev/null 2>&1 & echo started").CombinedOutput()
	require.NoError(t, err, "%s", out)
	var left []cluster.Process
	require.Eventually(t, func() bool { // until the login's own processes are gone
		left, err = a.Processes()
		return err != nil || len(left) == 1 && left[0].Args[0] == "sleep"
	}, 10*time.Second, 10*time.Millisecond)
	require.NoError(t, err)
	require.Equal(t, []string{"sleep", "1234"}, left[0].Args)
	require.Equal(t, cluster.UID, left[0].UID)

	require.ErrorIs(t, b.Signal(left[0].PID+1000, syscall.SIGKILL), os.ErrNotExist)
	require.NoError(t, a.Signal(left[0].PID, syscall.SIGKILL))
	require.Eventually(t, func() bool { // the first process reaps it
		_, err := a.Root.Stat("proc/" + strings.Fields(left[0].String())[0])
		return os.IsNotExist(err)
	}, 10*time.Second, 10*time.Millisecond)
}
