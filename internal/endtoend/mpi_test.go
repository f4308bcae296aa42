//go:build linux

package endtoend

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/internal/testhost/cluster"
)

// compile makes a program of testdata in the folder of the cluster's head, or
// skips the test.
func compile(t *testing.T, c *cluster.Cluster, source, compiler string, args ...string) {
	t.Helper()
	out := filepath.Join(c.Dir, strings.TrimSuffix(source, ".c"))
	args = append([]string{"-o", out, filepath.Join("testdata", source)}, args...)
	said, err := exec.Command(compiler, args...).CombinedOutput()
	require.NoError(t, err, "%s", said)
}

// mpiJob is a job of testdata/mpi.c, and how it ends.
type mpiJob struct {
	args   []string
	status int
	stdout []string // its lines, in any order
	stderr string
}

// runMPI runs jobs on a cluster of two hosts, with two slots each.
func runMPI(t *testing.T, c *cluster.Cluster, jobs map[string]mpiJob) {
	for name, k := range jobs {
		t.Run(name, func(t *testing.T) {
			j := gorun(c, append([]string{"--timeout", "20"}, k.args...)...)
			require.NoError(t, j.Start())
			require.Equal(t, k.status, j.status(t), "stdout: %s\nstderr: %s", &j.stdout, &j.stderr)
			if k.status == 0 { // of a failure, UCX tells on standard output
				require.ElementsMatch(t, k.stdout, linesOf(j.stdout.String()))
			}
			require.Contains(t, j.stderr.String(), k.stderr)
			requireClean(t, c)
		})
	}
}

// met is what the ranks of mpi.c say that have met, by rank, each of which runs
// one of the programs.
func met(onHost int, programs ...int) (lines []string) {
	size, sum := len(programs), len(programs)*(len(programs)-1)/2
	for rank, program := range programs {
		lines = append(lines, fmt.Sprintf("%d of %d, sum %d, %d on host, program %d", rank, size, sum, onHost, program))
	}
	return lines
}

func TestProgramsOfMPICH(t *testing.T) {
	if _, err := exec.LookPath("mpicc.mpich"); err != nil {
		t.Skip(err)
	}
	c := cluster.New(t, cluster.Config{Hosts: 2, Slots: 2})
	equip(t, c)
	compile(t, c, "mpi.c", "mpicc.mpich")
	runMPI(t, c, map[string]mpiJob{
		"two hosts":            {args: []string{"--stage", "./mpi", "meet"}, stdout: met(2, 0, 0, 0, 0)},
		"dealt out":            {args: []string{"--map-by", "node", "--stage", "./mpi", "meet"}, stdout: met(2, 0, 0, 0, 0)},
		"two programs":         {args: []string{"-np", "2", "--stage", "./mpi", "meet", ":", "-np", "2", "--stage", "./mpi", "meet"}, stdout: met(2, 0, 0, 1, 1)},
		"behind a wrapper":     {args: []string{"--wrap", "env", "--stage", "./mpi", "meet"}, stdout: met(2, 0, 0, 0, 0)},
		"abort":                {args: []string{"--stage", "./mpi", "abort"}, status: 42, stderr: "rank 3 on node2 exited with status 42 ("},
		"left before finalize": {args: []string{"--stage", "./mpi", "leave before finalize"}, status: 1, stderr: "rank 3 on node2 exited with status 1 (it left with status 0 before MPI_Finalize)"},
		"left before init":     {args: []string{"--init-timeout", "1", "--stage", "./mpi", "leave before init"}, status: 125, stderr: "rank 1 left without joining"},
	})
}

func TestClientsOfSlurmsPMI2(t *testing.T) {
	if err := exec.Command("gcc", "-E", "-include", "slurm/pmi2.h", "-x", "c", "/dev/null").Run(); err != nil {
		t.Skipf("slurm/pmi2.h (libpmi2-0-dev): %v", err)
	}
	c := cluster.New(t, cluster.Config{Hosts: 2, Slots: 2})
	equip(t, c)
	compile(t, c, "pmi2.c", "gcc", "-lpmi2")
	var want []string
	for rank := range 4 {
		want = append(want, fmt.Sprintf("%d of 4, (vector,(0,2,2))", rank))
	}
	for name, args := range map[string][]string{
		"by its descriptor": nil,
		"by the port":       {"--wrap", "env"},
	} {
		t.Run(name, func(t *testing.T) {
			require.ElementsMatch(t, want, linesOf(run(t, c, append(args, "--stage", "./pmi2")...)))
		})
	}
}

// linesOf parts what ranks have printed.
func linesOf(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}
