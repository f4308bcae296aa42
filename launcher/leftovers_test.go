package launcher

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/internal/testhost/sshserver"
)

// What ends a job must end it on every host: run, and requireGone after it, fail
// if a process is left.

func TestATimeLimitEndsLocalAndRemoteRanks(t *testing.T) {
	job, _ := hosts(t, []int{2, 2}, `(setsid sleep 60 &); sleep 60 & wait`)
	job.Hosts[0] = local(2)
	job.Limits.Run = 3 * time.Second // on a slow machine over before ranks start, which changes nothing
	o := run(t, job)
	require.Equal(t, StatusTimeout, o.Status, "%v", o.err)
	require.ErrorIs(t, o.err, ErrTimeout)
}

func TestAHostThatRefusesLeavesNothingOnTheOthers(t *testing.T) {
	job, servers := hosts(t, []int{1, 1, 1, 1, 1}, `exec sleep 60`)
	servers[2].Set(sshserver.Faults{RejectKeys: true})
	o := run(t, job)
	require.Equal(t, StatusFailed, o.Status)
	require.ErrorContains(t, o.err, "127.0.0.4")
	require.Empty(t, o.Ranks)
	guardians, agents := agentsOf(t, o.Job)
	require.Empty(t, guardians)
	require.Empty(t, agents)
}

func TestARankThatIsKilledTakesThoseOfOtherHostsAlong(t *testing.T) {
	file, await := pidFile(t)
	job, _ := hosts(t, []int{4, 2}, fmt.Sprintf(`case $GORUN_RANK in 1) echo $$ >> %s;; 5) while :; do :; done;; esac; exec sleep 60`, file))
	done := start(t, t.Context(), job)
	require.NoError(t, syscall.Kill(await(1)[0], syscall.SIGKILL))
	o := <-done
	require.Equal(t, 137, o.Status)
	require.Equal(t, 1, o.First.Rank)
	require.Equal(t, "127.0.0.2", o.First.Host)
	require.Equal(t, "SIGKILL", o.First.Signal)
	require.NotEmpty(t, o.First.Cause)
	for _, e := range o.Ranks {
		require.Equal(t, e.Rank != 1, e.Stopped, "%v", e)
	}
	requireGone(t, o.Job)
}

func TestOnlyTheLastHostsRankFails(t *testing.T) {
	job, _ := hosts(t, []int{1, 1, 1}, `test $GORUN_RANK = 2 && exit 9; exec sleep 60`)
	o := run(t, job)
	require.Equal(t, 9, o.Status)
	require.Equal(t, 2, o.First.Rank)
}
