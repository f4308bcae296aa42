//go:build linux

package endtoend

import (
	"bytes"
	"context"
	"crypto/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/internal/testhost/cluster"
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
	require.NotContains(t, j.stderr.String(), "warning")
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

// grant takes an allocation of two tasks on each of two nodes that stands until
// it is cancelled, and returns the variables that Slurm sets within it.
func (s allocated) grant(t *testing.T) (id string, environ []string) {
	t.Helper()
	salloc := s.command("salloc", "--no-shell", "-w", "node[1-2]", "--ntasks-per-node=2", "--gpus-per-node=2")
	require.NoError(t, salloc.Run(), "%s", &salloc.stderr)
	fields := strings.Fields(salloc.stderr.String())
	at := slices.Index(fields, "allocation")
	require.Positive(t, at, "%s", &salloc.stderr)
	id = fields[at+1]
	t.Cleanup(func() { s.command("scancel", id).Run() }) // it may be gone
	return id, []string{
		"SLURM_JOB_ID=" + id, "SLURM_JOB_NODELIST=node[1-2]", "SLURM_NTASKS=4", "SLURM_NTASKS_PER_NODE=2",
		"SLURM_TASKS_PER_NODE=2(x2)", "SLURM_JOB_CPUS_PER_NODE=2(x2)", "SLURM_GPUS_PER_NODE=2",
	}
}

// gorun prepares a gorun within a granted allocation.
func (s allocated) gorun(environ []string, args ...string) *job {
	j := s.command(filepath.Join(s.Dir, "gorun"), args...)
	j.Env = append(j.Env, environ...)
	return j
}

func TestSlurmRanks(t *testing.T) {
	s := newSlurm(t)
	id, environ := s.grant(t)
	t.Run("read standard input to its end", func(t *testing.T) {
		input := make([]byte, 1<<20)
		rand.Read(input)
		j := s.gorun(environ, "cat")
		j.Stdin = bytes.NewReader(input)
		require.NoError(t, j.Run(), "%s", &j.stderr)
		require.True(t, bytes.Equal(input, j.stdout.Bytes()), "%d bytes", j.stdout.Len())
	})
	t.Run("fail with their status", func(t *testing.T) {
		j := s.gorun(environ, "sh", "-c", "[ $GORUN_RANK != 3 ] || exit 5; sleep "+marker)
		require.NoError(t, j.Start())
		require.Equal(t, 5, j.status(t))
		require.Contains(t, j.stderr.String(), "rank 3 on node2 exited with status 5")
		requireClean(t, s.Cluster.Cluster)
	})
	t.Run("know the job and are no tasks of a step", func(t *testing.T) {
		lies := []string{"SLURM_PROCID=7", "SLURM_LOCALID=7", "SLURM_NODEID=7", "SLURM_STEP_NODELIST=x", "SLURM_STEPID=7", "SLURM_NPROCS=7",
			"SLURM_GTIDS=7", "SLURMD_NODENAME=x", "SLURM_JOB_GPUS=7", "SLURM_SRUN_COMM_PORT=7", "CUDA_VISIBLE_DEVICES=7"}
		j := s.gorun(append(environ, lies...), "-np", "1", "env")
		require.NoError(t, j.Run(), "%s", &j.stderr)
		var names []string
		for line := range strings.Lines(j.stdout.String()) {
			if name, _, _ := strings.Cut(line, "="); strings.HasPrefix(name, "SLURM") {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		require.Equal(t, []string{"SLURM_CONF", "SLURM_GPUS_PER_NODE", "SLURM_JOB_CPUS_PER_NODE", "SLURM_JOB_ID",
			"SLURM_JOB_NODELIST", "SLURM_NTASKS_PER_NODE", "SLURM_TASKS_PER_NODE"}, names)
		require.Contains(t, j.stdout.String(), "CUDA_VISIBLE_DEVICES=0,1\n", "the job's on that node")
	})
	t.Run("start by SSH where there is no srun", func(t *testing.T) {
		j := s.gorun(append(environ, "PATH=/none"), "-np", "1", "/bin/sh", "-c", ancestors)
		require.NoError(t, j.Run(), "%s", &j.stderr)
		require.Contains(t, j.stdout.String(), "sshd\n")
		require.Contains(t, j.stderr.String(), "warning: the nodes of Slurm's job "+id+" are reached by SSH: ")
	})
	t.Run("meet on the nodes' network", func(t *testing.T) {
		j := s.gorun(environ, "--stage", filepath.Join(s.Dir, "allreduce"))
		require.NoError(t, j.Run(), "%s", &j.stderr)
	})
}

// In a batch script gorun runs on the first node, with all that the job has
// there; in a step it has the step's share, and srun gives the agent the rest.
func TestSlurmLauncherOnANode(t *testing.T) {
	s := newSlurm(t)
	_, environ := s.grant(t)
	program, err := os.ReadFile(filepath.Join(s.Dir, "gorun"))
	require.NoError(t, err)
	node := s.Hosts[0]
	require.NoError(t, node.Root.WriteFile("tmp/gorun", program, 0o755))
	for name, c := range map[string]struct {
		environ []string
		below   string // what started the agent there
	}{
		"in a batch script": {environ, "gorun"},
		"in a step":         {append(environ, "SLURM_STEP_ID=0"), "slurmstepd"},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := node.Command(t.Context(), cluster.User, "/tmp/gorun", "-l", "--map-by", "node", "-np", "2", "sh", "-c", ancestors)
			cmd.Env = append(cmd.Env, "SLURM_CONF="+slurm.Conf)
			cmd.Env = append(cmd.Env, c.environ...)
			out, err := cmd.Output()
			require.NoError(t, err)
			of := func(tag string) (names []string) {
				for line := range strings.Lines(string(out)) {
					if name, ok := strings.CutPrefix(line, tag); ok {
						names = append(names, strings.TrimSpace(name))
					}
				}
				return names
			}
			require.Equal(t, []string{"sh", "exe", "gorun", c.below}, of("node1:0| "))
			require.Equal(t, []string{"sh", "exe", "gorun", "slurmstepd"}, of("node2:1| "))
			requireClean(t, s.Cluster.Cluster)
		})
	}
}

func TestSlurmEnds(t *testing.T) {
	s := newSlurm(t)
	kill := func(t *testing.T, h *cluster.Host, words ...string) {
		t.Helper()
		pids := find(t, h, words...)
		require.NotEmpty(t, pids)
		for _, pid := range pids {
			require.NoError(t, h.Signal(pid, syscall.SIGKILL))
		}
	}
	for name, c := range map[string]struct {
		disturb func(t *testing.T, id string, j *job)
		status  []int // one of these
		said    string
	}{
		"the launcher is killed": {func(t *testing.T, _ string, j *job) {
			require.NoError(t, j.Process.Kill())
		}, []int{-1}, ""},
		"one srun is killed": {func(t *testing.T, _ string, j *job) {
			kill(t, s.Head, "srun", "node2")
		}, []int{125}, "node2"},
		"one agent is killed": {func(t *testing.T, _ string, j *job) {
			kill(t, s.Hosts[1], "agent run")
		}, []int{125}, "node2"},
		"the job is cancelled": {func(t *testing.T, id string, j *job) {
			cancel := s.command("scancel", id)
			require.NoError(t, cancel.Run(), "%s", &cancel.stderr)
		}, []int{125, 143}, "CANCELLED"}, // agents and ranks get TERM at the same time
		"one step is cancelled": {func(t *testing.T, id string, j *job) {
			cancel := s.command("scancel", id+".0")
			require.NoError(t, cancel.Run(), "%s", &cancel.stderr)
		}, []int{125, 137}, "CANCELLED|Killed"}, // by KILL: Slurm says the one or the other
		"interrupted": {func(t *testing.T, id string, j *job) {
			require.NoError(t, j.Process.Signal(syscall.SIGINT))
		}, []int{130}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			id, environ := s.grant(t)
			j := s.gorun(environ, tree...)
			ready := &counter{word: "ready"}
			j.Cmd.Stdout = ready
			require.NoError(t, j.Start())
			require.Eventually(t, func() bool { return ready.count() == 4 }, 20*time.Second, 5*time.Millisecond, "%s", &j.stderr)
			c.disturb(t, id, j)
			require.Contains(t, c.status, j.status(t), "%s", &j.stderr)
			require.Regexp(t, c.said, j.stderr.String())
			requireClean(t, s.Cluster.Cluster)
			require.Eventually(t, func() bool {
				steps := s.command("squeue", "--steps", "--noheader")
				require.NoError(t, steps.Run(), "%s", &steps.stderr)
				return steps.stdout.Len() == 0
			}, 5*time.Second, 50*time.Millisecond, "a step is left")
		})
	}
}

func TestSlurmDoesNotStart(t *testing.T) {
	s := newSlurm(t)
	fails := func(t *testing.T, status int, environ []string, args ...string) string {
		t.Helper()
		j := s.gorun(environ, args...)
		require.NoError(t, j.Start())
		require.Equal(t, status, j.status(t), "%s", &j.stderr)
		requireClean(t, s.Cluster.Cluster)
		return j.stderr.String()
	}
	_, environ := s.grant(t)
	t.Run("in a job that is over", func(t *testing.T) {
		said := fails(t, 125, append(environ, "SLURM_JOB_ID=4242"), "hostname")
		require.Contains(t, said, "node1: agent: srun started no step of job 4242: ")
		require.Contains(t, said, "Invalid job id specified")
		require.Contains(t, said, "hint: is the job still there? squeue --jobs 4242")
	})
	t.Run("without srun", func(t *testing.T) {
		said := fails(t, 2, append(environ, "PATH=/none"), "--launcher", "slurm", "hostname")
		require.Contains(t, said, `"srun": executable file not found`)
	})
	t.Run("in each task of a step", func(t *testing.T) {
		said := fails(t, 2, append(environ, "SLURM_STEP_ID=0", "SLURM_STEP_NUM_TASKS=8"), "hostname")
		require.Contains(t, said, "SLURM_STEP_NUM_TASKS: expected 1, ")
	})
	t.Run("on a node that is cut off", func(t *testing.T) {
		require.NoError(t, s.Hosts[1].Cut())
		said := fails(t, 125, environ, "--start-timeout", "2", "hostname")
		require.Contains(t, said, "node2: agent: ")
		require.NotContains(t, said, "node1:")
	})
}
