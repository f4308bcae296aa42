package launcher

import (
	"fmt"
	"os"
	"sort"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// sortedLines are the lines of a text, in order.
func sortedLines(text string) []string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	sort.Strings(lines)
	return lines
}

func TestRanksGoOnWithoutOneThatFailed(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	for name, slots := range map[string][]int{"on one host": {4}, "on three": {1, 2, 1}} {
		t.Run(name, func(t *testing.T) {
			job, _ := hosts(t, slots, `test $GORUN_RANK = 1 && exit 7; exec `+self+` `+goOnRole)
			job.Continue = true
			o := run(t, job)
			require.Equal(t, 7, o.Status, "%v: %s", o.err, o.stderr)
			require.Equal(t, []string{"0 goes on as 0 of 3 without [1]", "2 goes on as 1 of 3 without [1]", "3 goes on as 2 of 3 without [1]"}, sortedLines(o.stdout))
		})
	}
}

func TestRanksGoOnWithoutALostHost(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	file, await := pidFile(t)
	job, _ := hosts(t, []int{2, 1, 2}, fmt.Sprintf(`test $GORUN_RANK = 2 && { echo $$ > %s; exec sleep 60; }; exec %s %s`, file, self, goOnRole))
	job.Continue = true
	done := start(t, t.Context(), job)
	require.NoError(t, syscall.Kill(parentOf(t, await(1)[0]), syscall.SIGKILL))
	o := <-done
	wantHostLost(t, o)
	require.Equal(t, []string{
		"0 goes on as 0 of 4 without [2]", "1 goes on as 1 of 4 without [2]", "3 goes on as 2 of 4 without [2]", "4 goes on as 3 of 4 without [2]",
	}, sortedLines(o.stdout))
	requireGone(t, o.Job)
}
