//go:build linux

package slurm_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/gorun/gorun/internal/testhost/cluster"
	"github.com/gorun/gorun/internal/testhost/slurm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestJob(t *testing.T) {
	s := slurm.New(t, slurm.Config{Nodes: 3, CPUs: 4, GPUs: 2})
	job := func(args ...string) []string {
		t.Helper()
		cmd := s.Command(t.Context(), "salloc", append([]string{"--quiet"}, args...)...)
		out, err := cmd.Output()
		require.NoError(t, err)
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		slices.Sort(lines)
		return lines
	}
	for name, c := range map[string]struct{ args, want []string }{
		"a step on each node":            {[]string{"-N", "2", "srun", "hostname"}, []string{"node1", "node2"}},
		"tasks on each node":             {[]string{"-N", "2", "--ntasks-per-node", "2", "srun", "hostname"}, []string{"node1", "node1", "node2", "node2"}},
		"more processors than there are": {[]string{"-n", "12", "printenv", "SLURM_JOB_CPUS_PER_NODE"}, []string{"4(x3)"}},
		"GPUs":                           {[]string{"--gpus-per-node=2", "srun", "printenv", "CUDA_VISIBLE_DEVICES"}, []string{"0,1"}},
		"as the ordinary user":           {[]string{"srun", "id", "-un"}, []string{cluster.User}},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, job(c.args...)) })
	}
}
