package launcher

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAJobThatContinuesOutlivesAFailure(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		status int
		stdout string
	}{
		"the others go on":               {`test $GORUN_RANK = 1 && exit 3; sleep 0.5; echo done`, 3, "done\ndone\n"},
		"the first failure is the job's": {`sleep 0.$((3 * GORUN_RANK)); exit $((2 + GORUN_RANK))`, 2, ""},
		"a death by signal":              {`test $GORUN_RANK = 2 && kill -SEGV $$; sleep 0.3; echo done`, 139, "done\ndone\n"},
		"nobody fails":                   {`echo done`, 0, "done\ndone\ndone\n"},
	} {
		t.Run(name, func(t *testing.T) {
			job := sh(3, c.script)
			job.Continue = true
			o := run(t, job)
			require.Equal(t, c.status, o.Status, "%v", o.err)
			require.Equal(t, c.stdout, o.stdout)
			require.Len(t, o.Ranks, 3)
		})
	}
}

func TestAJobThatContinuesOutlivesAHost(t *testing.T) {
	file, await := pidFile(t)
	job, _ := hosts(t, []int{1, 1}, `test $GORUN_RANK = 1 && { echo $$ > `+file+`; exec sleep 60; }; sleep 1; echo done`)
	job.Continue = true
	done := start(t, t.Context(), job)
	require.NoError(t, syscall.Kill(parentOf(t, await(1)[0]), syscall.SIGKILL))
	o := <-done
	require.Equal(t, "done\n", o.stdout)
	wantHostLost(t, o)
	requireGone(t, o.Job)
}

func TestPeersOfAJobThatContinuesAreTold(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	job := sh(2, `test $GORUN_RANK = 1 && exit 7; exec `+self+` `+joinRole)
	job.Continue = true
	o := run(t, job)
	require.Equal(t, 7, o.Status, "%v", o.err)
	require.Equal(t, "lost [1] <nil>\n", o.stdout)
}

func TestRanksAreSignalledBeforeTheTimeLimit(t *testing.T) {
	job := sh(2, `trap "echo saved; exit 0" USR1; sleep 60 & wait`)
	job.Limits.Run = 30 * time.Second
	job.Limits.Early = EarlySignal{syscall.SIGUSR1, 29500 * time.Millisecond}
	o := run(t, job)
	require.NoError(t, o.err)
	require.Equal(t, "saved\nsaved\n", o.stdout)
	require.Equal(t, 1, countOf(o.events, Signalled))
}

func TestTheRankWhoseDeathOthersNoticeIsBlamed(t *testing.T) {
	for range 10 { // which of the two is reaped first is chance
		pipe := filepath.Join(t.TempDir(), "pipe")
		require.NoError(t, syscall.Mkfifo(pipe, 0o600))
		o := run(t, sh(2, `case $GORUN_RANK in
			0) exec 3> `+pipe+`; kill -ABRT $$;;
			1) read end < `+pipe+`; exit 1;;
		esac`))
		require.Equal(t, 134, o.Status, "%v", o.err)
	}
}

// The script outlives its program, and the TERM by which the job ends, so that the
// rank is always reaped after the one that noticed. A rank of another host takes a
// moment to notice, as over a network.
func TestARankBehindAScriptFailsWhenItsProgramVanishes(t *testing.T) {
	for name, c := range map[string]struct {
		slots []int
		delay string
	}{
		"one host":  {[]int{2}, "0"},
		"two hosts": {[]int{1, 1}, "0.05"},
	} {
		t.Run(name, func(t *testing.T) {
			job, _ := hosts(t, c.slots, behind(t, `trap "" TERM; case $GORUN_RANK in
				0) read end < PIPE; test `+c.delay+` = 0 || sleep `+c.delay+`; exit 1;;
				1) SELF ROLE 8> PIPE; status=$?; sleep 0.2; exit $status;;
			esac`, dieRole))
			o := run(t, job)
			require.Equal(t, 137, o.Status, "%v", o.err)
		})
	}
}

func TestARankBehindAScriptThatHasClosedItsJobFailsWhenItEnds(t *testing.T) {
	o := run(t, sh(2, behind(t, `case $GORUN_RANK in
		0) read end < PIPE; exit 3;;
		1) SELF ROLE; trap "" TERM; echo > PIPE; sleep 0.1; exit 4;;
	esac`, closeRole)))
	require.Equal(t, 3, o.Status, "%v", o.err)
}

func TestARankBehindAScriptThatHasJoinedAgainFailsWhenItEnds(t *testing.T) {
	o := run(t, sh(2, behind(t, `case $GORUN_RANK in
		0) read end < PIPE; exit 3;;
		1) SELF ROLE; SELF `+closeRole+`; trap "" TERM; echo > PIPE; sleep 0.1; exit 4;;
	esac`, dieRole)))
	require.Equal(t, 3, o.Status, "%v", o.err)
}

// behind fills in a script that runs the test binary in a role, and a named pipe.
func behind(t *testing.T, script, role string) string {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	pipe := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	return strings.NewReplacer("SELF", self, "ROLE", role, "PIPE", pipe).Replace(script)
}
