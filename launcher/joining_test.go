package launcher

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestARankThatNeverJoinsIsLostToTheOthers(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	for name, early := range map[string]string{"before they join": "exit 0", "after they have joined": "sleep 0.5; exit 0"} {
		t.Run(name, func(t *testing.T) {
			o := run(t, sh(2, fmt.Sprintf(`test $GORUN_RANK = 1 && { %s; }; exec %s %s`, early, self, joinRole)))
			require.Equal(t, 3, o.Status, "%v: %s", o.err, o.stderr)
			require.Equal(t, "lost [1] <nil>\n", o.stdout)
		})
	}
}

func TestRanksThatWaitInVainEndTheJob(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	for name, early := range map[string]string{"before the time-out": "exit 0", "after it": "sleep 1; exit 0"} {
		t.Run(name, func(t *testing.T) {
			job := sh(3, fmt.Sprintf(`test $GORUN_RANK = 1 && { %s; }; exec %s %s`, early, self, deafRole))
			job.Limits.Init = 500 * time.Millisecond
			o := run(t, job)
			require.Equal(t, StatusFailed, o.Status, "%v: %s", o.err, o.stderr)
			require.EqualError(t, o.err, "rank 1 left without joining; 2 ranks wait")
		})
	}
}

func TestRanksThatJoinLateAreNamed(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	job := sh(3, fmt.Sprintf(`test $GORUN_RANK = 0 && exec %s %s; sleep 1.5; exit 4`, self, deafRole))
	job.Limits.Init = 500 * time.Millisecond
	o := run(t, job)
	require.Equal(t, 4, o.Status, "%v", o.err)
	var said []string
	for _, e := range o.events {
		if e.Kind == Warning {
			said = append(said, e.Message)
		}
	}
	require.Contains(t, said, "ranks 1, 2 have not joined within 500ms of the first (--init-timeout): 1 rank waits")
	require.Equal(t, 1, countOf(o.events, RankReady))
}

func TestRankList(t *testing.T) {
	for want, ranks := range map[string][]int{
		"rank 3":            {3},
		"ranks 0, 1":        {0, 1},
		"ranks 0-2, 4, 7-9": {0, 1, 2, 4, 7, 8, 9},
		"ranks 0, 2, 4, 6, 8, 10, 12, 14 and 2 more": {0, 2, 4, 6, 8, 10, 12, 14, 16, 18},
	} {
		require.Equal(t, want, rankList(ranks))
	}
}
