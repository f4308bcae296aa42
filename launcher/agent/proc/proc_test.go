//go:build linux

package proc

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestExiting(t *testing.T) {
	require.False(t, Exiting(os.Getpid()))
	cmd := exec.Command("true")
	require.NoError(t, cmd.Start())
	// Not waited for, it becomes a zombie.
	require.Eventually(t, func() bool { return Exiting(cmd.Process.Pid) }, 10*time.Second, time.Millisecond)
	require.NoError(t, cmd.Wait())
	require.False(t, Exiting(cmd.Process.Pid))
}

// What is listed once may have another process's number.
func TestKillKillsWhatIsListedTwice(t *testing.T) {
	var named []*exec.Cmd
	for range 2 {
		cmd := exec.Command("sleep", "60")
		require.NoError(t, cmd.Start())
		defer func() {
			cmd.Process.Kill()
			cmd.Wait()
		}()
		named = append(named, cmd)
	}
	once, always := named[0].Process.Pid, named[1].Process.Pid
	calls := 0
	left := Kill(func() (pids []int) {
		if calls++; calls == 1 {
			pids = append(pids, once)
		}
		if Alive(always) {
			pids = append(pids, always)
		}
		return pids
	}, time.Now().Add(Patience))
	require.Empty(t, left)
	require.False(t, Alive(always))
	require.True(t, Alive(once))
}

func TestShortCommand(t *testing.T) {
	require.Equal(t, "sh -c a b?", ShortCommand([]string{"sh", "-c", "a\nb\xff"}))
	require.Len(t, []rune(ShortCommand([]string{string(make([]byte, 4096))})), 101)
}

func TestParentReadsNamesWithParentheses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a) Z 1 (b")
	sleep, err := exec.LookPath("sleep")
	require.NoError(t, err)
	require.NoError(t, os.Symlink(sleep, path))
	cmd := exec.Command(path, "60")
	require.NoError(t, cmd.Start())
	defer func() {
		cmd.Process.Kill()
		cmd.Wait()
	}()
	ppid, state, ok := Parent(cmd.Process.Pid)
	require.True(t, ok)
	require.Equal(t, strconv.Itoa(os.Getpid()), strconv.Itoa(ppid))
	require.NotEqual(t, byte('Z'), state)
}
