//go:build linux

package endtoend

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/internal/testhost/cluster"
)

func TestProgramsOfOpenMPI(t *testing.T) {
	if _, err := exec.LookPath("mpicc.openmpi"); err != nil {
		t.Skip(err)
	}
	c := cluster.New(t, cluster.Config{Hosts: 2, Slots: 2})
	equip(t, c)
	compile(t, c, "mpi.c", "mpicc.openmpi")
	runMPI(t, c, map[string]mpiJob{
		"two hosts":            {args: []string{"--stage", "./mpi", "meet"}, stdout: met(2, 0, 0, 0, 0)},
		"dealt out":            {args: []string{"--map-by", "node", "--wrap", "env", "--stage", "./mpi", "meet"}, stdout: met(2, 0, 0, 0, 0)},
		"all sizes":            {args: []string{"--stage", "./mpi", "reduce"}, stdout: []string{"0 wrong", "0 wrong", "0 wrong", "0 wrong"}},
		"abort":                {args: []string{"--stage", "./mpi", "abort"}, status: 42, stderr: "rank 3 on node2 exited with status 42 ("},
		"killed":               {args: []string{"--stage", "./mpi", "die"}, status: 137, stderr: "rank 3 on node2 "},
		"left before finalize": {args: []string{"--stage", "./mpi", "leave before finalize"}, status: 1, stderr: "rank 3 on node2 exited with status 1 (it left with status 0 before MPI_Finalize)"},
		"left before init":     {args: []string{"--init-timeout", "1", "--stage", "./mpi", "leave before init"}, status: 125, stderr: "rank 1 left without joining"},
	})
	requireNoFilesOfOpenMPI(t, c)
}

// requireNoFilesOfOpenMPI fails the test if a host has a folder of a session, or
// memory that ranks have shared.
func requireNoFilesOfOpenMPI(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	for _, h := range append(c.Hosts, c.Head) {
		files, err := h.Files()
		require.NoError(t, err)
		for _, f := range files {
			require.False(t, strings.Contains(f, "ompi") || strings.Contains(f, "vader"), "%s: %s", h.Name, f)
		}
	}
}

func TestMPI4PyOverOpenMPI(t *testing.T) {
	const script = `from mpi4py import MPI
world = MPI.COMM_WORLD
print(MPI.get_vendor()[0], world.rank, world.size, world.allreduce(world.rank))`
	if said, err := exec.Command(python, "-c", "import mpi4py").CombinedOutput(); err != nil {
		t.Skipf("%s has no mpi4py (Debian's python3-mpi4py): %v %s", python, err, said)
	}
	// Docker mounts /dev/shm so that no library can be loaded from it.
	c := cluster.New(t, cluster.Config{Hosts: 2, Slots: 2, Variants: []cluster.Variant{{NoExec: []string{"/dev/shm"}}}})
	equip(t, c)
	require.ElementsMatch(t,
		[]string{"Open MPI 0 4 6", "Open MPI 1 4 6", "Open MPI 2 4 6", "Open MPI 3 4 6"},
		linesOf(run(t, c, python, "-c", script)))
	requireNoFilesOfOpenMPI(t, c)
}
