//go:build linux

package agent

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/launcher/agent/proc"
)

func TestARankThatEndsWithinItsForkEndedWithTheFirst(t *testing.T) {
	cmd := exec.Command("true")
	require.NoError(t, cmd.Start())
	defer cmd.Wait() // until then it is a zombie
	require.Eventually(t, func() bool { return proc.Exiting(cmd.Process.Pid) }, 10*time.Second, time.Millisecond)
	ended, living, later := &rank{alive: true}, &rank{alive: true}, &rank{alive: true}
	a := &agent{ranks: []*rank{ended, living}}
	first := time.Now()
	a.noteDying(first)
	a.ranks = append(a.ranks, later)
	ended.begun(cmd.Process.Pid)
	living.begun(os.Getpid())
	later.begun(cmd.Process.Pid)
	require.Equal(t, first, ended.dying)
	require.Zero(t, living.dying)
	require.Zero(t, later.dying, "it was started after the first had failed")
}

func TestARankEndsWithItsProgramIfThatIsLikely(t *testing.T) {
	const exited, aborted, terminated = syscall.WaitStatus(3 << 8), syscall.WaitStatus(syscall.SIGABRT), syscall.WaitStatus(syscall.SIGTERM)
	reaped := time.Now()
	for name, c := range map[string]struct {
		ago     time.Duration // that the program vanished
		dying   time.Duration // that the rank was found ending; 0: it was not
		told    bool
		status  syscall.WaitStatus
		program bool // ended the rank
	}{
		"a moment before":                       {time.Second, 0, false, exited, true},
		"before it was found ending":            {2 * time.Second, time.Second, false, exited, true},
		"after it was found ending":             {time.Second, 2 * time.Second, false, exited, false},
		"after it was reaped":                   {-time.Second, 0, false, exited, false},
		"long before":                           {time.Hour, 0, false, exited, false},
		"and the rank says so in spite of TERM": {time.Second, 0, true, exited, true},
		"and TERM ended the rank":               {time.Second, 0, true, terminated, false},
		"and another's TERM ended the rank":     {time.Second, 0, false, terminated, true},
		"and another signal ended the rank":     {time.Second, 0, true, aborted, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := &rank{told: c.told, vanished: reaped.Add(-c.ago)}
			if c.dying != 0 {
				r.dying = reaped.Add(-c.dying)
			}
			r.noteEnding(reaped, c.status)
			require.Equal(t, c.program, r.dying.Equal(r.vanished))
		})
	}
}
