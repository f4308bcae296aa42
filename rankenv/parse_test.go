package rankenv_test

import (
	"errors"
	"go/build"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/rankenv"
)

func TestParse(t *testing.T) {
	tests := []struct {
		name, environ string
		want          rankenv.World
	}{
		{
			"no launcher", "HOME=/root USER=root",
			rankenv.World{Size: 1, LocalSize: 1, Nodes: 1},
		},
		{
			"gorun",
			"GORUN_RANK=3 GORUN_SIZE=16 GORUN_LOCAL_RANK=3 GORUN_LOCAL_SIZE=8 GORUN_NODE=0 GORUN_NODES=2 GORUN_HOST=node1 GORUN_JOB=j1 " +
				"GORUN_ATTEMPT=2 GORUN_GPUS=GPU-a,1 GORUN_ADDR=fd00::1 GORUN_MASTER=[fd00::1]:29500 GORUN_SOCKET=/tmp/s GORUN_SOCKET_FD=3",
			rankenv.World{
				Rank: 3, Size: 16, LocalRank: 3, LocalSize: 8, Nodes: 2, Host: "node1", Job: "j1", Attempt: 2,
				GPUs: []string{"GPU-a", "1"}, Addr: "fd00::1", Master: "[fd00::1]:29500", Socket: "/tmp/s", By: rankenv.Gorun,
			},
		},
		{
			"torchrun",
			"LOCAL_RANK=1 RANK=5 GROUP_RANK=1 ROLE_RANK=5 ROLE_NAME=default LOCAL_WORLD_SIZE=4 WORLD_SIZE=8 GROUP_WORLD_SIZE=2 ROLE_WORLD_SIZE=8 " +
				"MASTER_ADDR=::1 MASTER_PORT=29500 TORCHELASTIC_RESTART_COUNT=1 TORCHELASTIC_MAX_RESTARTS=3 TORCHELASTIC_RUN_ID=r7 TORCHELASTIC_USE_AGENT_STORE=True",
			rankenv.World{Rank: 5, Size: 8, LocalRank: 1, LocalSize: 4, Node: 1, Nodes: 2, Job: "r7", Attempt: 1, Master: "[::1]:29500", By: rankenv.Torch},
		},
		{
			"torch in Kubernetes, one rank a pod", "RANK=2 WORLD_SIZE=4 MASTER_ADDR=job-master-0 MASTER_PORT=23456",
			rankenv.World{Rank: 2, Size: 4, LocalSize: 1, Node: 2, Nodes: 4, Master: "job-master-0:23456", By: rankenv.Torch},
		},
		{
			"Open MPI does not number the hosts",
			"OMPI_COMM_WORLD_RANK=5 OMPI_COMM_WORLD_SIZE=7 OMPI_COMM_WORLD_LOCAL_RANK=1 OMPI_COMM_WORLD_LOCAL_SIZE=4 OMPI_COMM_WORLD_NODE_RANK=1",
			rankenv.World{Rank: 5, Size: 7, LocalRank: 1, LocalSize: 4, Node: 1, Nodes: 2, By: rankenv.OpenMPI},
		},
		{
			"Hydra", "PMI_RANK=1 PMI_SIZE=2 PMI_FD=5 MPI_LOCALRANKID=1 MPI_LOCALNRANKS=2",
			rankenv.World{Rank: 1, Size: 2, LocalRank: 1, LocalSize: 2, Nodes: 1, By: rankenv.PMI},
		},
		{
			"srun",
			"SLURM_JOB_ID=77 SLURM_STEP_ID=2 SLURM_PROCID=5 SLURM_NTASKS=12 SLURM_STEP_NUM_TASKS=7 SLURM_LOCALID=1 SLURM_NODEID=2 SLURM_NNODES=9 " +
				"SLURM_STEP_NUM_NODES=3 SLURM_STEP_TASKS_PER_NODE=2(x2),3 SLURM_TASKS_PER_NODE=1(x9) SLURMD_NODENAME=n3 SLURM_RESTART_COUNT=1",
			rankenv.World{Rank: 5, Size: 7, LocalRank: 1, LocalSize: 3, Node: 2, Nodes: 3, Host: "n3", Job: "77.2", Attempt: 1, By: rankenv.Slurm},
		},
		{
			"Slurm without the tasks of each host", "SLURM_PROCID=9 SLURM_NTASKS=16 SLURM_LOCALID=1 SLURM_NODEID=1 SLURM_NNODES=2",
			rankenv.World{Rank: 9, Size: 16, LocalRank: 1, LocalSize: 8, Node: 1, Nodes: 2, By: rankenv.Slurm},
		},
		{
			"Slurm, unevenly, without the tasks of each host", "SLURM_PROCID=9 SLURM_NTASKS=10 SLURM_LOCALID=8 SLURM_NODEID=1 SLURM_NNODES=2",
			rankenv.World{Rank: 9, Size: 10, LocalRank: 8, LocalSize: 9, Node: 1, Nodes: 2, By: rankenv.Slurm},
		},
		{
			"Slurm without a place on the host", "SLURM_PROCID=1 SLURM_NTASKS=2",
			rankenv.World{Rank: 1, Size: 2, LocalSize: 1, Node: 1, Nodes: 2, By: rankenv.Slurm},
		},
		{
			"a batch script is no task", "SLURM_JOB_ID=77 SLURM_PROCID=0 SLURM_NTASKS=16 SLURM_LOCALID=0 SLURM_NODEID=0 SLURM_NNODES=2",
			rankenv.World{Size: 1, LocalSize: 1, Nodes: 1},
		},
		{
			"an allocation is no task", "SLURM_JOB_ID=77 SLURM_NTASKS=16 SLURM_NNODES=2",
			rankenv.World{Size: 1, LocalSize: 1, Nodes: 1},
		},
		{
			"JAX", "JAX_PROCESS_ID=1 JAX_NUM_PROCESSES=2 JAX_COORDINATOR_ADDRESS=[::1]:1234",
			rankenv.World{Rank: 1, Size: 2, LocalSize: 1, Node: 1, Nodes: 2, Master: "[::1]:1234", By: rankenv.JAX},
		},
		{
			"JAX's coordinator alone is no set", "JAX_COORDINATOR_ADDRESS=h:1",
			rankenv.World{Size: 1, LocalSize: 1, Nodes: 1},
		},
		{
			"a local rank alone is no set", "LOCAL_RANK=3 MPI_LOCALRANKID=3",
			rankenv.World{Size: 1, LocalSize: 1, Nodes: 1},
		},
		{
			"set to nothing is as good as none", "RANK= WORLD_SIZE= PMI_RANK=1 PMI_SIZE=2 MPI_LOCALRANKID=",
			rankenv.World{Rank: 1, Size: 2, LocalSize: 1, Node: 1, Nodes: 2, By: rankenv.PMI},
		},
		{
			"decimal, and the last value counts", "RANK=7 WORLD_SIZE=012 RANK=010",
			rankenv.World{Rank: 10, Size: 12, LocalSize: 1, Node: 10, Nodes: 12, By: rankenv.Torch},
		},
		{
			"the first of several that agree",
			"PMI_RANK=1 PMI_SIZE=2 OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 RANK=1 WORLD_SIZE=2 GORUN_RANK=1 GORUN_SIZE=2",
			rankenv.World{Rank: 1, Size: 2, LocalSize: 1, Node: 1, Nodes: 2, By: rankenv.Gorun},
		},
		{
			"the next completes the first",
			"RANK=3 WORLD_SIZE=4 OMPI_COMM_WORLD_RANK=3 OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_LOCAL_RANK=1 OMPI_COMM_WORLD_LOCAL_SIZE=2",
			rankenv.World{Rank: 3, Size: 4, LocalRank: 1, LocalSize: 2, Node: 1, Nodes: 2, By: rankenv.Torch},
		},
		{
			"Slurm completes who has its rank and size",
			"RANK=3 WORLD_SIZE=4 SLURM_PROCID=3 SLURM_NTASKS=4 SLURM_LOCALID=0 SLURM_NODEID=2 SLURM_NNODES=3 SLURM_TASKS_PER_NODE=2,1(x2) SLURMD_NODENAME=n3",
			rankenv.World{Rank: 3, Size: 4, LocalSize: 1, Node: 2, Nodes: 3, Host: "n3", By: rankenv.Torch},
		},
		{
			"Slurm of something else does not count",
			"RANK=1 WORLD_SIZE=2 SLURM_PROCID=0 SLURM_NTASKS=4 SLURM_LOCALID=0 SLURM_NODEID=0 SLURM_NNODES=1",
			rankenv.World{Rank: 1, Size: 2, LocalSize: 1, Node: 1, Nodes: 2, By: rankenv.Torch},
		},
		{
			"a broken Slurm or JAX does not count", "PMI_RANK=1 PMI_SIZE=2 SLURM_PROCID=x SLURM_NTASKS=4 JAX_PROCESS_ID=1",
			rankenv.World{Rank: 1, Size: 2, LocalSize: 1, Node: 1, Nodes: 2, By: rankenv.PMI},
		},
		{
			"Slurm before JAX", "SLURM_PROCID=1 SLURM_NTASKS=2 JAX_PROCESS_ID=0 JAX_NUM_PROCESSES=3",
			rankenv.World{Rank: 1, Size: 2, LocalSize: 1, Node: 1, Nodes: 2, By: rankenv.Slurm},
		},
		{
			"a worker of torchrun stands alone",
			"TORCHELASTIC_RUN_ID=r RANK=1 WORLD_SIZE=4 GORUN_RANK=0 GORUN_SIZE=2 PMI_RANK=oops SLURM_PROCID=1 SLURM_NTASKS=4 SLURM_LOCALID=1",
			rankenv.World{Rank: 1, Size: 4, LocalSize: 1, Node: 1, Nodes: 4, Job: "r", By: rankenv.Torch},
		},
		{
			"a run id without a rank is no worker", "TORCHELASTIC_RUN_ID=r GORUN_RANK=0 GORUN_SIZE=2",
			rankenv.World{Size: 2, LocalSize: 1, Nodes: 2, By: rankenv.Gorun},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w, err := rankenv.Parse(strings.Fields(tt.environ))
			require.NoError(t, err)
			require.Equal(t, tt.want, w)
		})
	}
}

func TestParseRefuses(t *testing.T) {
	tests := []struct{ name, environ, want string }{
		{"no size", "GORUN_RANK=3", `GORUN_SIZE: expected a value beside GORUN_RANK=3, found nothing`},
		{"no rank", "WORLD_SIZE=3", `RANK: expected a value beside WORLD_SIZE=3, found nothing`},
		{"no local size", "PMI_RANK=0 PMI_SIZE=2 MPI_LOCALRANKID=0", `MPI_LOCALNRANKS: expected a value beside MPI_LOCALRANKID=0, found nothing`},
		{"no node", "RANK=0 WORLD_SIZE=2 GROUP_WORLD_SIZE=1", `GROUP_RANK: expected a value beside GROUP_WORLD_SIZE=1, found nothing`},
		{"no master's port", "RANK=0 WORLD_SIZE=2 MASTER_ADDR=a", `MASTER_PORT: expected a value beside MASTER_ADDR=a, found nothing`},
		{"rank that is a word", "RANK=x WORLD_SIZE=2", `RANK: expected a number from 0 to 1, below WORLD_SIZE, found "x"`},
		{"rank at the size", "RANK=2 WORLD_SIZE=2", `RANK: expected a number from 0 to 1, below WORLD_SIZE, found "2"`},
		{"negative rank", "RANK=-1 WORLD_SIZE=2", `RANK: expected a number from 0 to 1, below WORLD_SIZE, found "-1"`},
		{"size 0", "RANK=0 WORLD_SIZE=0", `WORLD_SIZE: expected a number from 1 to 2147483647, found "0"`},
		{"size past all bounds", "RANK=0 WORLD_SIZE=99999999999999999999", `WORLD_SIZE: expected a number from 1 to 2147483647, found "99999999999999999999"`},
		{"local rank at the local size", "RANK=0 WORLD_SIZE=4 LOCAL_RANK=2 LOCAL_WORLD_SIZE=2", `LOCAL_RANK: expected a number from 0 to 1, below LOCAL_WORLD_SIZE, found "2"`},
		{"local size above the size", "RANK=0 WORLD_SIZE=4 LOCAL_RANK=0 LOCAL_WORLD_SIZE=5", `LOCAL_WORLD_SIZE: expected a number from 1 to 4, at most WORLD_SIZE, found "5"`},
		{"node at the nodes", "RANK=0 WORLD_SIZE=4 GROUP_RANK=4 GROUP_WORLD_SIZE=4", `GROUP_RANK: expected a number from 0 to 3, below GROUP_WORLD_SIZE, found "4"`},
		{"more nodes than ranks", "GORUN_RANK=0 GORUN_SIZE=4 GORUN_NODE=0 GORUN_NODES=5", `GORUN_NODES: expected a number from 1 to 4, at most GORUN_SIZE, found "5"`},
		{"attempt", "GORUN_RANK=0 GORUN_SIZE=1 GORUN_ATTEMPT=-1", `GORUN_ATTEMPT: expected a number, found "-1"`},
		{"address that is a name", "GORUN_RANK=0 GORUN_SIZE=1 GORUN_ADDR=node1", `GORUN_ADDR: expected an IP address, found "node1"`},
		{"GPU without a name", "GORUN_RANK=0 GORUN_SIZE=1 GORUN_GPUS=0,", `GORUN_GPUS: expected UUIDs or indexes of GPUs between commas, found "0,"`},
		{"master without a port", "GORUN_RANK=0 GORUN_SIZE=1 GORUN_MASTER=::1", `GORUN_MASTER: expected host:port, an IPv6 address in brackets, found "::1"`},
		{"master in brackets", "RANK=0 WORLD_SIZE=1 MASTER_ADDR=[::1] MASTER_PORT=1", `MASTER_ADDR: expected a name or an address without brackets, found "[::1]"`},
		{"master's port", "RANK=0 WORLD_SIZE=1 MASTER_ADDR=a MASTER_PORT=65536", `MASTER_PORT: expected a number from 1 to 65535, found "65536"`},
		{"restart count", "RANK=0 WORLD_SIZE=1 TORCHELASTIC_RESTART_COUNT=x", `TORCHELASTIC_RESTART_COUNT: expected a number, found "x"`},
		{"coordinator", "JAX_PROCESS_ID=0 JAX_NUM_PROCESSES=1 JAX_COORDINATOR_ADDRESS=a:0", `JAX_COORDINATOR_ADDRESS: expected host:port, an IPv6 address in brackets, found "a:0"`},
		{"Slurm without a size", "SLURM_PROCID=0", `SLURM_NTASKS: expected a value beside SLURM_PROCID=0, found nothing`},
		{"Slurm's local rank", "SLURM_PROCID=0 SLURM_NTASKS=2 SLURM_LOCALID=2", `SLURM_LOCALID: expected a number from 0 to 1, below SLURM_NTASKS, found "2"`},
		{
			"Slurm's tasks of too few hosts", "SLURM_PROCID=0 SLURM_NTASKS=3 SLURM_LOCALID=0 SLURM_NODEID=2 SLURM_NNODES=3 SLURM_TASKS_PER_NODE=1(x2)",
			`SLURM_TASKS_PER_NODE: expected tasks of each host, as 2(x3),1, with 1 to 3 for host 2, found "1(x2)"`,
		},
		{
			"Slurm's tasks fewer than the local rank", "SLURM_PROCID=1 SLURM_NTASKS=3 SLURM_LOCALID=1 SLURM_TASKS_PER_NODE=1,2",
			`SLURM_TASKS_PER_NODE: expected tasks of each host, as 2(x3),1, with 2 to 3 for host 0, found "1,2"`,
		},
		{
			"Slurm's tasks in no form", "SLURM_PROCID=1 SLURM_NTASKS=3 SLURM_LOCALID=0 SLURM_TASKS_PER_NODE=1(2)",
			`SLURM_TASKS_PER_NODE: expected tasks of each host, as 2(x3),1, with 1 to 3 for host 0, found "1(2)"`,
		},
		{"Slurm's restarts", "SLURM_PROCID=0 SLURM_NTASKS=2 SLURM_RESTART_COUNT=x", `SLURM_RESTART_COUNT: expected a number, found "x"`},
		{"a half set beside a whole one", "GORUN_RANK=0 GORUN_SIZE=2 PMI_RANK=0", `PMI_SIZE: expected a value beside PMI_RANK=0, found nothing`},
		{"a worker of torchrun without a size", "TORCHELASTIC_RUN_ID=r RANK=0 GORUN_RANK=0 GORUN_SIZE=2", `WORLD_SIZE: expected a value beside RANK=0, found nothing`},
		{
			"every problem", "GORUN_RANK=2 GORUN_SIZE=2 GORUN_NODE=0 RANK=0",
			`GORUN_RANK: expected a number from 0 to 1, below GORUN_SIZE, found "2"` + "\n" +
				`GORUN_NODES: expected a value beside GORUN_NODE=0, found nothing` + "\n" +
				`WORLD_SIZE: expected a value beside RANK=0, found nothing`,
		},
		{
			"launchers that disagree", "GORUN_RANK=1 GORUN_SIZE=4 RANK=0 WORLD_SIZE=4 OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2",
			"launchers disagree on the rank: GORUN_RANK=1, RANK=0, OMPI_COMM_WORLD_RANK=1\n" +
				"launchers disagree on the size: GORUN_SIZE=4, WORLD_SIZE=4, OMPI_COMM_WORLD_SIZE=2",
		},
		{
			"launchers that disagree about the host",
			"RANK=1 WORLD_SIZE=4 LOCAL_RANK=1 LOCAL_WORLD_SIZE=4 PMI_RANK=1 PMI_SIZE=4 MPI_LOCALRANKID=1 MPI_LOCALNRANKS=2",
			"launchers disagree on the local size: LOCAL_WORLD_SIZE=4, MPI_LOCALNRANKS=2",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w, err := rankenv.Parse(strings.Fields(tt.environ))
			require.EqualError(t, err, tt.want)
			require.Zero(t, w)
		})
	}
}

func TestErrorFields(t *testing.T) {
	_, err := rankenv.Parse([]string{"RANK=8", "WORLD_SIZE=8"})
	malformed, ok := errors.AsType[*rankenv.VarError](err)
	require.True(t, ok)
	require.Equal(t, &rankenv.VarError{Name: "RANK", Value: "8", Want: "a number from 0 to 7, below WORLD_SIZE"}, malformed)

	_, err = rankenv.Parse([]string{"RANK=0", "WORLD_SIZE=2", "PMI_RANK=1", "PMI_SIZE=2"})
	conflict, ok := errors.AsType[*rankenv.ConflictError](err)
	require.True(t, ok)
	require.Equal(t, &rankenv.ConflictError{Field: "rank", Vars: []string{"RANK=0", "PMI_RANK=1"}}, conflict)
}

func TestCurrent(t *testing.T) {
	for _, entry := range os.Environ() {
		// t.Setenv restores what is there; the test needs it away.
		name, value, _ := strings.Cut(entry, "=")
		t.Setenv(name, value)
		require.NoError(t, os.Unsetenv(name))
	}
	hostname, err := os.Hostname()
	require.NoError(t, err)

	w, err := rankenv.Current()
	require.NoError(t, err)
	require.Equal(t, rankenv.World{Size: 1, LocalSize: 1, Nodes: 1, Host: hostname}, w)

	t.Setenv("GORUN_RANK", "1")
	_, err = rankenv.Current()
	require.EqualError(t, err, "GORUN_SIZE: expected a value beside GORUN_RANK=1, found nothing")

	t.Setenv("GORUN_SIZE", "2")
	t.Setenv("GORUN_HOST", "node2")
	w, err = rankenv.Current()
	require.NoError(t, err)
	require.Equal(t, rankenv.World{Rank: 1, Size: 2, LocalSize: 1, Node: 1, Nodes: 2, Host: "node2", By: rankenv.Gorun}, w)
}

// User programs pay nothing for this package.
func TestImportsStandardLibraryOnly(t *testing.T) {
	pkg, err := build.ImportDir(".", 0)
	require.NoError(t, err)
	for _, path := range pkg.Imports {
		first, _, _ := strings.Cut(path, "/")
		require.NotContains(t, first, ".", "%s is not in the standard library", path)
	}
}
