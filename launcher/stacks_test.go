package launcher

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// stacksOf returns what a job's events tell of where a rank was.
func stacksOf(o outcome, rank int) string {
	var b strings.Builder
	for _, e := range o.events {
		if e.Kind == StackTrace && e.Rank == rank {
			b.WriteString(e.Message + "\n")
		}
	}
	return b.String()
}

func TestStacksAreTakenBeforeTheTimeLimitEndsRanks(t *testing.T) {
	job := sh(2, `sleep 60 & exec sleep 61`)
	job.Stacks, job.Limits.Run = true, time.Second
	o := run(t, job)
	require.Equal(t, StatusTimeout, o.Status, "%v", o.err)
	for rank := range 2 {
		text := stacksOf(o, rank)
		require.Contains(t, text, ": sleep 61\nthread ")
		require.Contains(t, text, ": sleep 60\nthread ", "a process below the rank")
		require.Contains(t, text, "state S")
	}
}

func TestGoProgramsPrintTheirGoroutinesAtTheTimeLimit(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	job := sh(1, `exec `+self+` `+joinRole)
	job.Stacks, job.Limits.Run = true, 2*time.Second
	o := run(t, job)
	require.Equal(t, StatusTimeout, o.Status, "%v", o.err)
	require.Contains(t, stacksOf(o, 0), "a Go program")
	require.Contains(t, o.stderr, "SIGQUIT: quit")
	require.Contains(t, o.stderr, "launcher.joinAndWait")
}

func TestStacksAreTakenBeforeQUITIsPassedOn(t *testing.T) {
	var seen lockedBuffer
	signals := make(chan os.Signal, 1)
	job := sh(1, `trap "exit 4" QUIT; echo ready; sleep 60 & wait`)
	job.Stacks, job.Signals, job.Streams.Stdout = true, signals, &seen
	done := start(t, t.Context(), job)
	require.Eventually(t, func() bool { return strings.Contains(seen.String(), "ready") }, 10*time.Second, time.Millisecond)
	signals <- syscall.SIGQUIT
	o := <-done
	require.Equal(t, 4, o.Status, "%v", o.err)
	require.Contains(t, stacksOf(o, 0), "thread ")
	requireGone(t, o.Job)
}

func TestWithoutStacksNoneAreTaken(t *testing.T) {
	job := sh(1, `exec sleep 60`)
	job.Limits.Run = 100 * time.Millisecond
	o := run(t, job)
	require.Equal(t, StatusTimeout, o.Status)
	require.Empty(t, stacksOf(o, 0))
}
