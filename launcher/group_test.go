//go:build linux

package launcher

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/launcher/agent/cgroup"
)

// delegated makes a control group and returns it with an agent's program that
// runs in it, as if the host's manager had given it to the user. It skips where
// none can be made.
func delegated(t *testing.T) (group, agent string) {
	t.Helper()
	top := cgroup.Locate().Mount
	if top == "" || os.Getuid() != 0 || os.Getenv("GORUN_TEST_FULL") == "" {
		t.Skip("needs GORUN_TEST_FULL=1, root, and control groups of version 2")
	}
	group = filepath.Join(top, fmt.Sprintf("gorun-test-%d-%d", os.Getpid(), time.Now().UnixNano()))
	if err := os.Mkdir(group, 0o755); err != nil {
		t.Skipf("no control group can be made here: %v", err)
	}
	t.Cleanup(func() {
		require.Eventually(t, func() bool { return syscall.Rmdir(group) == nil }, 10*time.Second, 5*time.Millisecond, "something is left in %s", group)
	})
	if _, err := os.Stat(filepath.Join(group, "cgroup.kill")); err != nil {
		t.Skipf("the kernel does not kill control groups: %v", err)
	}
	self, err := os.Executable()
	require.NoError(t, err)
	agent = filepath.Join(t.TempDir(), "gorun")
	script := fmt.Sprintf("#!/bin/sh\necho $$ > %s/cgroup.procs || exit 1\nexec %s \"$@\"\n", group, self)
	require.NoError(t, os.WriteFile(agent, []byte(script), 0o755))
	return group, agent
}

func TestRanksHaveAControlGroupWhereOneIsDelegated(t *testing.T) {
	group, agent := delegated(t)
	job := sh(2, `grep ^0:: /proc/self/cgroup; (setsid sleep 60 &)`)
	job.Agent = agent
	o := run(t, job)
	require.NoError(t, o.err)
	for _, line := range lines(o.stdout) {
		require.Contains(t, line, filepath.Base(group)+"/gorun-job-"+o.Job)
	}
	require.Len(t, lines(o.stdout), 2)
	require.Empty(t, cgroup.Find("gorun-job-"+o.Job))
}

func TestASweepFindsByControlGroupWhatHidesOtherwise(t *testing.T) {
	_, agent := delegated(t)
	pids, await := pidFile(t)
	// Its own session, no environment, and soon no parent.
	job := sh(1, fmt.Sprintf(`env -i setsid sh -c 'trap "" TERM HUP; echo $$ >> %s; while :; do sleep 0.1; done' & wait`, pids))
	job.Agent = agent
	// The rank's parent is the agent, whose parent is the guardian.
	job.Events = func(e Event) {
		if e.Kind != RankStarted {
			return
		}
		await(1)
		var rank int
		_, err := fmt.Sscanf(e.Message, "process %d", &rank)
		require.NoError(t, err)
		agent := parentOf(t, rank)
		guardian := parentOf(t, agent)
		require.NoError(t, syscall.Kill(guardian, syscall.SIGSTOP)) // it must not get to its work
		require.NoError(t, syscall.Kill(agent, syscall.SIGKILL))
		require.NoError(t, syscall.Kill(guardian, syscall.SIGKILL))
	}
	o := run(t, job)
	require.Equal(t, StatusFailed, o.Status, "%v", o.err)
	requireDead(t, await(1))
}
