//go:build linux

package endtoend

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/internal/testhost/slurm"
)

// allocated is a Slurm whose head has the programs.
type allocated struct{ *slurm.Cluster }

func newSlurm(t *testing.T) allocated {
	t.Helper()
	s := allocated{slurm.New(t, slurm.Config{Nodes: 3, CPUs: 4, GPUs: 2})}
	equip(t, s.Cluster.Cluster)
	return s
}

// inJob prepares a gorun within an allocation: salloc's arguments come before
// "--", gorun's after it.
func (s allocated) inJob(args ...string) *job {
	at := slices.Index(args, "--")
	words := slices.Concat([]string{"--quiet"}, args[:at], []string{filepath.Join(s.Dir, "gorun")}, args[at+1:])
	return s.command("salloc", words...)
}

func (s allocated) command(name string, args ...string) *job {
	j := &job{Cmd: s.Command(context.Background(), name, args...)}
	j.Cmd.Stdout, j.Cmd.Stderr = &j.stdout, &j.stderr
	return j
}

// lines runs a job that must succeed and returns what it printed, sorted.
func (s allocated) lines(t *testing.T, args ...string) []string {
	t.Helper()
	j := s.inJob(args...)
	require.NoError(t, j.Run(), "stdout: %s\nstderr: %s", &j.stdout, &j.stderr)
	require.Empty(t, j.stderr.String())
	requireClean(t, s.Cluster.Cluster)
	lines := strings.Split(strings.TrimSpace(j.stdout.String()), "\n")
	slices.Sort(lines)
	return lines
}

func TestSlurmAllocation(t *testing.T) {
	s := newSlurm(t)
	for name, c := range map[string]struct{ args, want []string }{
		"tasks are slots": {
			[]string{"-w", "node[1-2]", "--ntasks-per-node=2", "--", "-l", "hostname"},
			[]string{"node1:0| node1", "node1:1| node1", "node2:2| node2", "node2:3| node2"}},
		"GPUs are slots": {
			[]string{"-w", "node[1-2]", "--gpus-per-node=2", "--", "hostname"},
			[]string{"node1", "node1", "node2", "node2"}},
		"processors are slots": {
			[]string{"-w", "node1", "-c3", "--exclusive", "--", "hostname"},
			[]string{"node1"}},
		"a number of ranks": {
			[]string{"-w", "node[1-3]", "--exclusive", "--", "-np", "3", "--map-by", "node", "hostname"},
			[]string{"node1", "node2", "node3"}},
		"some of the hosts": {
			[]string{"-w", "node[1-3]", "--ntasks-per-node=2", "--", "-H", "node2", "hostname"},
			[]string{"node2", "node2"}},
		"of some of the hosts, fewer slots": {
			[]string{"-w", "node[1-3]", "--ntasks-per-node=2", "--", "-H", "node2:1,node3", "hostname"},
			[]string{"node2", "node3", "node3"}},
		"not taken": {
			[]string{"-w", "node[1-2]", "--", "--allocation", "none", "hostname"},
			[]string{"head"}},
		"started by srun": {
			[]string{"-w", "node1", "--", "sh", "-c", ancestors},
			[]string{"exe", "gorun", "sh", "slurmstepd"}},
		"started by SSH": {
			[]string{"-w", "node1", "--", "--launcher", "ssh", "sh", "-c", ancestors},
			[]string{"exe", "gorun", "sh", "sshd", "sshd", "sshd"}},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, s.lines(t, c.args...)) })
	}
}

// ancestors is a shell command that prints the names of the processes above it,
// but for a host's first one.
const ancestors = `p=$$; while [ $p -gt 1 ]; do
	while read -r key value rest; do
		case $key in Name:) name=$value ;; PPid:) parent=$value ;; esac
	done </proc/$p/status
	echo ${name%%-*}
	p=$parent
done`
