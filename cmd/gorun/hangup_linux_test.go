package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// The terminal is closed under a job, with output under way: the kernel hangs
// up, writes fail, and nothing may be left.
func TestAClosedTerminalEndsTheJob(t *testing.T) {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	require.NoError(t, err)
	defer master.Close()
	require.NoError(t, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	tty, err := os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)

	self, err := os.Executable()
	require.NoError(t, err)
	started := filepath.Join(t.TempDir(), "pids")
	cmd := exec.Command(self, "-np", "2", "sh", "-c", "echo $$ >> "+started+"; while :; do echo output; echo errors >&2; sleep 0.01; done")
	cmd.Args[0] = "gorun"
	cmd.Env = append(os.Environ(), "GORACE="+noRaceSleep)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	require.NoError(t, cmd.Start())
	tty.Close()
	var pids []string
	require.Eventually(t, func() bool {
		b, _ := os.ReadFile(started)
		pids = strings.Fields(string(b))
		return len(pids) == 2
	}, 20*time.Second, 5*time.Millisecond)

	master.Close()
	exit, ok := errors.AsType[*exec.ExitError](cmd.Wait())
	require.True(t, ok)
	require.Equal(t, 129, exit.ExitCode())
	for _, pid := range pids {
		_, err := os.Stat("/proc/" + pid)
		require.ErrorIs(t, err, os.ErrNotExist)
	}
}
