//go:build linux

package endtoend

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/internal/testhost/cluster"
	"github.com/gorun/gorun/launcher"
)

// A host drops out of the network. The others suspect it, the launcher gives it
// up, and the job starts anew with a spare in its place.
func TestALostHostIsReplacedByASpare(t *testing.T) {
	c := stage(t, cluster.Config{Hosts: 4, Slots: 1})
	j := gorun(c, "--spares", "1", "--restarts", "1", "--preflight", "--node-timeout", "8", "--grace", "1", "--events", "events.jsonl",
		"sh", "-c", "test $GORUN_ATTEMPT = 1 && { echo again $GORUN_RANK $GORUN_HOST; exit; }; sleep "+marker+" & echo ready; wait")
	out := &counter{word: "ready"}
	j.Cmd.Stdout = out
	require.NoError(t, j.Start())
	require.Eventually(t, func() bool { return out.count() == 3 }, 20*time.Second, 5*time.Millisecond, "%s", &j.stderr)
	require.NoError(t, c.Hosts[1].Cut())
	require.Equal(t, 0, j.status(t), "%s", &j.stderr)

	var again []string
	for line := range strings.Lines(out.all.String()) {
		if rest, ok := strings.CutPrefix(line, "again "); ok {
			again = append(again, strings.TrimSpace(rest))
		}
	}
	require.ElementsMatch(t, []string{"0 node1", "1 node4", "2 node3"}, again)

	f, err := os.Open(filepath.Join(c.Dir, "events.jsonl"))
	require.NoError(t, err)
	defer f.Close()
	happened := map[launcher.Kind]string{}
	for ev, err := range launcher.ReadEvents(f) {
		require.NoError(t, err)
		happened[ev.Kind] = ev.Host
	}
	require.Equal(t, "node2", happened[launcher.HostSuspected])
	require.Equal(t, "node2", happened[launcher.HostLost])
	require.Contains(t, happened, launcher.Restarting)
	requireClean(t, c)
}
