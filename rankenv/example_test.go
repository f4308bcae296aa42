package rankenv_test

import (
	"fmt"
	"strings"

	"github.com/gorun/gorun/rankenv"
)

func ExampleParse() {
	// What srun tells the tenth of sixteen tasks on two hosts.
	w, err := rankenv.Parse([]string{
		"SLURM_PROCID=9", "SLURM_NTASKS=16", "SLURM_LOCALID=1", "SLURM_TASKS_PER_NODE=8(x2)",
		"SLURM_NODEID=1", "SLURM_NNODES=2", "SLURMD_NODENAME=node2",
	})
	fmt.Println(w, err)
	// Output: rank 9 of 16 on node2 (1 of 8 there, by slurm) <nil>
}

func ExampleParse_conflict() {
	_, err := rankenv.Parse([]string{"GORUN_RANK=3", "GORUN_SIZE=4", "RANK=0", "WORLD_SIZE=4"})
	fmt.Println(err)
	// Output: launchers disagree on the rank: GORUN_RANK=3, RANK=0
}

func ExampleWorld_Environ() {
	w := rankenv.World{Rank: 1, Size: 2, LocalSize: 1, Node: 1, Nodes: 2}
	fmt.Println(strings.Join(w.Environ(rankenv.OpenMPI), "\n"))
	// Output:
	// OMPI_COMM_WORLD_RANK=1
	// OMPI_COMM_WORLD_SIZE=2
	// OMPI_COMM_WORLD_LOCAL_RANK=0
	// OMPI_COMM_WORLD_LOCAL_SIZE=1
	// OMPI_COMM_WORLD_NODE_RANK=0
	// OMPI_UNIVERSE_SIZE=2
}
