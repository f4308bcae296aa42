package launcher

import (
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/launcher/placement"
	"github.com/gorun/gorun/launcher/stdio"
	"github.com/gorun/gorun/launcher/wire"
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

func TestALostHostIsNotWaitedFor(t *testing.T) {
	plan, err := placement.Place(2, []placement.Host{{Name: "a", Slots: 1}, {Name: "b", Slots: 1}}, placement.Policy{})
	require.NoError(t, err)
	for name, wait := range map[string]func(l *launch) (over func() bool){
		"for its stack traces": func(l *launch) func() bool {
			told := false
			l.afterStacks(false, func() { told = true })
			return func() bool { return told }
		},
		"to pause": func(l *launch) func() bool {
			l.pausing = pausing{since: time.Now(), unpaused: map[*host]bool{l.hosts[0]: true, l.hosts[1]: true}}
			return func() bool { return len(l.pausing.unpaused) == 0 }
		},
	} {
		t.Run(name, func(t *testing.T) {
			job := &Job{Stacks: true, Continue: true}
			prepared := &prepared{job: job, roster: &roster{all: make([]rosterEntry, 2)}}
			l := newLaunch(&layout{attempt: &attempt{prepared: prepared}, plan: plan})
			for node := range 2 {
				ours, theirs := net.Pipe()
				go io.Copy(io.Discard, theirs)
				h := &host{index: node, node: node, conn: wire.NewConn(ours), stderr: &excerpt{}}
				t.Cleanup(func() { h.conn.Close(); theirs.Close() })
				l.hosts = append(l.hosts, h)
			}
			l.printer = newPrinter(stdio.Config{Ranks: make([]stdio.Rank, 2)}, &job.Streams, nil, func(int) {}, func(error) {})
			t.Cleanup(l.printer.close)
			over := wait(l)
			l.handle(letter{from: l.hosts[0], message: &wire.StacksTaken{}})
			l.handle(letter{from: l.hosts[0], message: &wire.Paused{}})
			require.False(t, over())
			l.handle(letter{from: l.hosts[1], err: io.EOF})
			require.True(t, over())
		})
	}
}

func TestWithoutStacksNoneAreTaken(t *testing.T) {
	job := sh(1, `exec sleep 60`)
	job.Limits.Run = 100 * time.Millisecond
	o := run(t, job)
	require.Equal(t, StatusTimeout, o.Status)
	require.Empty(t, stacksOf(o, 0))
}
