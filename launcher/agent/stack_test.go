//go:build linux

package agent

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLanguageOf(t *testing.T) {
	require.Equal(t, golang, languageOf(os.Getpid()))
	cmd := exec.Command("sleep", "60")
	require.NoError(t, cmd.Start())
	defer func() {
		cmd.Process.Kill()
		cmd.Wait()
	}()
	require.Equal(t, other, languageOf(cmd.Process.Pid))
	require.Contains(t, describeThread(cmd.Process.Pid, cmd.Process.Pid), "sleep, state ")
	require.Equal(t, []int{cmd.Process.Pid}, family(cmd.Process.Pid))
	require.Contains(t, family(os.Getpid()), cmd.Process.Pid)
}

func TestIndent(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"only threads and frames": {"[Thread debugging]\nThread 1 (LWP 7):\n#0  read ()\n\ndetached\n", "  gdb Thread 1 (LWP 7):\n  gdb #0  read ()\n"},
		"all, if there are none":  {"ptrace: Operation not permitted.\r\n", "  gdb ptrace: Operation not permitted.\n"},
		"nothing":                 {"", ""},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, indent("gdb", c.text)) })
	}
}
