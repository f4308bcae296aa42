//go:build linux

package endtoend

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/internal/testhost/cluster"
)

// A rank is a shell with a program below it; both must go.
var tree = []string{"-l", "--node-timeout", "3", "--grace", "1", "sh", "-c", "sleep " + marker + " & echo ready; wait"}

// killJob is a running job of two ranks on each host.
func startTree(t *testing.T, c *cluster.Cluster) *job {
	t.Helper()
	j := gorun(c, tree...)
	ready := &counter{word: "ready"}
	j.Cmd.Stdout = ready
	require.NoError(t, j.Start())
	require.Eventually(t, func() bool { return ready.count() == 2*len(c.Hosts) }, 20*time.Second, 5*time.Millisecond, "%s", &j.stderr)
	return j
}

// find returns the processes of a host whose command line has all words.
func find(t *testing.T, h *cluster.Host, words ...string) []int {
	t.Helper()
	processes, err := h.Processes()
	require.NoError(t, err)
	var pids []int
next:
	for _, p := range processes {
		for _, w := range words {
			if !strings.Contains(p.String(), w) {
				continue next
			}
		}
		pids = append(pids, p.PID)
	}
	return pids
}

func TestKill(t *testing.T) {
	kill := func(t *testing.T, h *cluster.Host, pids []int) {
		t.Helper()
		require.NotEmpty(t, pids)
		for _, pid := range pids {
			require.NoError(t, h.Signal(pid, syscall.SIGKILL))
		}
	}
	for name, c := range map[string]struct {
		disturb func(t *testing.T, c *cluster.Cluster, j *job)
		status  int
		said    string
	}{
		"the launcher": {func(t *testing.T, c *cluster.Cluster, j *job) {
			require.NoError(t, j.Process.Kill())
		}, -1, ""},
		"one agent": {func(t *testing.T, c *cluster.Cluster, j *job) {
			kill(t, c.Hosts[1], find(t, c.Hosts[1], "agent run"))
		}, 125, "node2"},
		"one agent and its guardian": {func(t *testing.T, c *cluster.Cluster, j *job) {
			kill(t, c.Hosts[1], find(t, c.Hosts[1], "agent"))
		}, 125, "node2"},
		"one sshd session": {func(t *testing.T, c *cluster.Cluster, j *job) {
			kill(t, c.Hosts[1], find(t, c.Hosts[1], "sshd: "+cluster.User))
		}, 125, "node2"},
		"one rank": {func(t *testing.T, c *cluster.Cluster, j *job) {
			kill(t, c.Hosts[1], find(t, c.Hosts[1], "sh -c sleep")[:1])
		}, 137, "SIGKILL"},
		"the link of one host": {func(t *testing.T, c *cluster.Cluster, j *job) {
			require.NoError(t, c.Hosts[1].Cut())
		}, 125, "node2"},
		"one direction of a link": {func(t *testing.T, c *cluster.Cluster, j *job) {
			require.NoError(t, c.Hosts[1].DropOutgoing(100))
		}, 125, "node2"},
	} {
		t.Run(name, func(t *testing.T) {
			hosts := stage(t, cluster.Config{Hosts: 3, Slots: 2})
			j := startTree(t, hosts)
			c.disturb(t, hosts, j)
			require.Equal(t, c.status, j.status(t), "%s", &j.stderr)
			require.Contains(t, j.stderr.String(), c.said)
			requireClean(t, hosts)
		})
	}
}
