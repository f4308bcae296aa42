//go:build linux

package agent

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/hostfiles"
	"github.com/gorun/gorun/internal/testhost/sshserver"
	"github.com/gorun/gorun/launcher"
)

// jumpFile names the variable with the file that holds by how many seconds the
// time of day is off on an agent's host.
const jumpFile = "AGENT_TEST_JUMP"

// jumping is a clock whose time of day jumps as a file says. Its monotonic part
// does not, as with the kernel's clocks (clock_gettime(2)).
func jumping(file string) func() time.Time {
	return func() time.Time {
		t := time.Now()
		b, err := os.ReadFile(file)
		if err != nil {
			return t
		}
		seconds, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
		if err != nil {
			return t
		}
		// The first word of a Time that has both holds the seconds of its time of
		// day above 30 bits of nanoseconds; no function adds to one of them alone.
		*(*uint64)(unsafe.Pointer(&t)) += uint64(seconds << 30)
		return t
	}
}

func TestTheTestsClockJumps(t *testing.T) {
	file := filepath.Join(t.TempDir(), "jump")
	now := jumping(file)
	before := now()
	require.NoError(t, os.WriteFile(file, []byte("-3600\n"), 0o644))
	after := now()
	require.GreaterOrEqual(t, after.Sub(before), time.Duration(0), "it counts on")
	require.Less(t, after.Sub(before), time.Minute)
	require.Less(t, after.Unix(), before.Unix()-3000, "the time of day does not")
}

// Rank 0 is on a host whose clock jumps while the job runs, rank 1 on another.
// One fails, and when it is gone the other.
func TestAJumpOfTheClockChangesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		seconds, first int
		lease          time.Duration // 0: longer than the job
	}{
		"forward, where the first fails": {3600, 0, 0},
		"back, where the second fails":   {-3600, 1, 0},
		"forward, with a short lease":    {3600, 0, 500 * time.Millisecond},
		"back, with a short lease":       {-3600, 1, 500 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			jump := filepath.Join(dir, "jump")
			job := &launcher.Job{Continue: true, Agent: os.Args[0]}
			job.Limits.Node = c.lease
			away := sshserver.Start(t, sshserver.Config{Env: []string{jumpFile + "=" + jump}})
			job.SSH.Config = away.Config
			job.Hosts = []hostfiles.Host{away.Entry(), {Name: "localhost"}}
			for i := range job.Hosts {
				job.Hosts[i].Slots = 1
			}
			// Each waits for more than the short lease after the jump.
			script := fmt.Sprintf(`cd %s
				echo before; sleep 0.05
				test $GORUN_RANK = 0 && echo %d >new && mv new jump
				sleep 0.7; echo after
				if test $GORUN_RANK = %d; then echo $$ >new.pid; mv new.pid pid; exit 3; fi
				until test -e pid; do sleep 0.02; done
				while kill -0 $(cat pid) 2>/dev/null; do sleep 0.02; done
				sleep 0.1; exit 4`, dir, c.seconds, c.first)
			job.Apps = []launcher.App{{Args: []string{"/bin/sh", "-c", script}, Ranks: 2}}
			var stdout, stderr bytes.Buffer
			job.Streams.Stdout, job.Streams.Stderr = &stdout, &stderr
			job.Streams.Tag = "{time} {rank} "
			result, err := launcher.Run(t.Context(), job)
			require.NotNil(t, result.First, "%v\n%s", err, &stderr)
			require.Equal(t, c.first, result.First.Rank, "%v\n%s", err, &stderr)
			require.Equal(t, 3, result.Status)
			require.Equal(t, 4, result.Ranks[1-c.first].Code)
			require.Less(t, result.Ranks[1-c.first].At.Sub(result.First.At).Abs(), time.Minute)
			said := map[string][]string{} // by rank
			for line := range strings.Lines(stdout.String()) {
				words := strings.Fields(line)
				said[words[1]] = append(said[words[1]], words[0])
			}
			for rank, times := range said {
				require.Len(t, times, 2)
				require.IsIncreasing(t, times, "the time stamps of rank %s", rank)
			}
			require.Len(t, said, 2)
		})
	}
}

// What reads the time of day past the tests' clock would not be tested.
func TestTheClockIsReadInOnePlace(t *testing.T) {
	for _, pattern := range []string{"*.go", "proc/*.go", "cgroup/*.go", "../*.go"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for _, file := range files {
			b, err := os.ReadFile(file)
			require.NoError(t, err)
			if !strings.HasSuffix(file, "_test.go") {
				require.NotContains(t, string(b), "time.Now()", file)
			}
		}
	}
}
