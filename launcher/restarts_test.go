package launcher

import (
	"fmt"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/internal/testhost/sshserver"
)

func TestRestarts(t *testing.T) {
	for name, c := range map[string]struct {
		script   string
		limit    time.Duration
		status   int
		restarts int
	}{
		"until all ranks succeed":            {`test $GORUN_ATTEMPT = 2 || exit 5`, 0, 0, 2},
		"until none is left":                 {`exit $((5 + GORUN_ATTEMPT))`, 0, 7, 2},
		"not after success":                  {`exit 0`, 0, 0, 0},
		"after a death by signal":            {`test $GORUN_ATTEMPT = 1 || kill -KILL $$`, 0, 0, 1},
		"not after the time limit":           {`exec sleep 60`, 300 * time.Millisecond, StatusTimeout, 0},
		"the time limit is that of the job":  {`test $GORUN_ATTEMPT = 1 && exec sleep 60; exit 1`, time.Second, StatusTimeout, 1},
		"the ranks of one attempt only meet": {`test $GORUN_ATTEMPT = $TORCHELASTIC_RESTART_COUNT && test $GORUN_ATTEMPT = 1`, 0, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			job := sh(2, c.script)
			job.Restarts, job.Limits.Run = 2, c.limit
			o := run(t, job)
			require.Equal(t, c.status, o.Status, "%v", o.err)
			require.Equal(t, c.restarts, o.Restarts)
			if c.status == 0 {
				require.Nil(t, o.First)
			}
			require.Len(t, o.Ranks, 2)
			require.Equal(t, c.restarts, countOf(o.events, Restarting))
			require.Equal(t, c.restarts, o.events[len(o.events)-1].Attempt)
		})
	}
}

func countOf(events []Event, kind Kind) (n int) {
	for _, e := range events {
		if e.Kind == kind {
			n++
		}
	}
	return n
}

func TestWhatCannotChangeIsNotTriedAgain(t *testing.T) {
	job := sh(1, `exit 0`)
	job.Apps[0].Args[0] = "/no/such/program"
	job.Restarts = 3
	o := run(t, job)
	require.Equal(t, StatusNotFound, o.Status)
	require.Zero(t, o.Restarts)
}

func TestASignalEndsAllAttempts(t *testing.T) {
	file, await := pidFile(t)
	job := sh(1, fmt.Sprintf(`echo $$ >> %s; test $GORUN_ATTEMPT = 0 && exit 1; exec sleep 60`, file))
	job.Restarts = 9
	signals := make(chan os.Signal, 1)
	job.Signals = signals
	done := start(t, t.Context(), job)
	await(2)
	signals <- syscall.SIGTERM
	o := <-done
	require.Equal(t, 143, o.Status)
	require.Equal(t, 1, o.Restarts)
	requireGone(t, o.Job)
}

func TestALostHostIsReplaced(t *testing.T) {
	for name, c := range map[string]struct {
		slots  []int
		spares int
		ranks  int
		want   []string // hosts of the second attempt
	}{
		"by a spare, in its place":           {[]int{1, 1, 1}, 1, 0, []string{"0 127.0.0.4", "1 127.0.0.3"}},
		"by a host that had room":            {[]int{1, 1, 1}, 0, 2, []string{"0 127.0.0.3", "1 127.0.0.4"}},
		"by itself where nothing else is":    {[]int{1, 1}, 0, 0, []string{"0 127.0.0.2", "1 127.0.0.3"}},
		"by itself, not by the undeclared":   {[]int{0, 0}, 0, 2, []string{"0 127.0.0.2", "1 127.0.0.3"}},
		"by others that have declared slots": {[]int{1, 3}, 0, 2, []string{"0 127.0.0.3", "1 127.0.0.3"}},
	} {
		t.Run(name, func(t *testing.T) {
			file, await := pidFile(t)
			job, _ := hosts(t, c.slots, fmt.Sprintf(`test $GORUN_ATTEMPT = 1 && { echo $GORUN_RANK $GORUN_HOST; exit; }
				test $GORUN_RANK = 0 && echo $$ > %s; exec sleep 60`, file))
			job.Apps[0].Ranks, job.Spares, job.Restarts = c.ranks, c.spares, 1
			job.Placement.MapBy = "node"
			done := start(t, t.Context(), job)
			require.NoError(t, syscall.Kill(parentOf(t, await(1)[0]), syscall.SIGKILL))
			o := <-done
			require.NoError(t, o.err)
			require.Equal(t, 1, o.Restarts)
			require.ElementsMatch(t, c.want, lines(o.stdout))
			requireGone(t, o.Job)
			told := o.events[slices.IndexFunc(o.events, func(e Event) bool { return e.Kind == Restarting }):]
			require.Equal(t, "127.0.0.2", told[0].Host)
			require.Regexp(t, `^restart 1 of 1: 127\.0\.0\.2: run: the agent's stream was closed`, told[0].Message)
			if c.spares > 0 {
				require.Equal(t, "warning: 127.0.0.2: 127.0.0.4 takes its place", told[1].String())
			}
		})
	}
}

func TestHostsThatCannotBeReachedAreNotExamined(t *testing.T) {
	job, servers := hosts(t, []int{1, 1, 1}, `echo $GORUN_RANK`)
	job.Spares, job.Preflight = 1, true
	servers[1].Set(sshserver.Faults{RejectKeys: true})
	o := run(t, job)
	require.NoError(t, o.err)
	require.ElementsMatch(t, []string{"0", "1"}, lines(o.stdout))
}

func TestASpareTakesThePlaceOfAHostThatCannotBeReached(t *testing.T) {
	for name, c := range map[string]struct {
		spares int
		broken []int
		want   []string // hosts of the ranks; nil: the job fails
	}{
		"one of two spares":                      {2, []int{1}, []string{"0 127.0.0.2", "1 127.0.0.4"}},
		"both":                                   {2, []int{0, 1}, []string{"0 127.0.0.4", "1 127.0.0.5"}},
		"the second, as the first is broken too": {2, []int{0, 2}, []string{"0 127.0.0.5", "1 127.0.0.3"}},
		"too few":                                {1, []int{0, 2, 3}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			job, servers := hosts(t, []int{1, 1, 1, 1}, `echo $GORUN_RANK $GORUN_HOST`)
			job.Spares = c.spares
			if c.want == nil {
				job.Hosts = job.Hosts[:3]
			}
			for _, i := range c.broken {
				servers[i].Set(sshserver.Faults{RejectKeys: true})
			}
			o := run(t, job)
			if c.want == nil {
				require.Equal(t, StatusFailed, o.Status)
				var host *HostError
				require.ErrorAs(t, o.err, &host)
				return
			}
			require.NoError(t, o.err)
			require.ElementsMatch(t, c.want, lines(o.stdout))
			require.Equal(t, len(c.broken), countOf(o.events, Warning))
		})
	}
}
