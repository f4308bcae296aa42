package rankenv_test

import (
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gorun/gorun/rankenv"
)

var launchers = []rankenv.Launcher{rankenv.Gorun, rankenv.Torch, rankenv.OpenMPI, rankenv.PMI, rankenv.Slurm, rankenv.JAX}

func TestEnviron(t *testing.T) {
	w := rankenv.World{
		Rank: 9, Size: 16, LocalRank: 1, LocalSize: 8, Node: 1, Nodes: 2, Host: "node2", Job: "j1", Attempt: 1,
		GPUs: []string{"0", "GPU-b"}, Addr: "10.0.0.2", Master: "[fd00::1]:29500", Socket: "/tmp/s", By: rankenv.Gorun,
	}
	tests := []struct {
		name string
		as   []rankenv.Launcher
		want string
	}{
		{"nobody's", nil, ""},
		{"no launcher's", []rankenv.Launcher{rankenv.None, "lsf"}, ""},
		{
			"gorun's", []rankenv.Launcher{rankenv.Gorun},
			"GORUN_RANK=9 GORUN_SIZE=16 GORUN_LOCAL_RANK=1 GORUN_LOCAL_SIZE=8 GORUN_NODE=1 GORUN_NODES=2 GORUN_HOST=node2 GORUN_JOB=j1 GORUN_ATTEMPT=1 " +
				"GORUN_GPUS=0,GPU-b GORUN_ADDR=10.0.0.2 GORUN_MASTER=[fd00::1]:29500 GORUN_SOCKET=/tmp/s",
		},
		{
			"torch's", []rankenv.Launcher{rankenv.Torch},
			"RANK=9 WORLD_SIZE=16 LOCAL_RANK=1 LOCAL_WORLD_SIZE=8 GROUP_RANK=1 GROUP_WORLD_SIZE=2 ROLE_RANK=9 ROLE_WORLD_SIZE=16 " +
				"MASTER_ADDR=fd00::1 MASTER_PORT=29500 TORCHELASTIC_RESTART_COUNT=1 TORCHELASTIC_USE_AGENT_STORE=False",
		},
		{
			"Open MPI's and Hydra's", []rankenv.Launcher{rankenv.OpenMPI, rankenv.PMI},
			"OMPI_COMM_WORLD_RANK=9 OMPI_COMM_WORLD_SIZE=16 OMPI_COMM_WORLD_LOCAL_RANK=1 OMPI_COMM_WORLD_LOCAL_SIZE=8 OMPI_COMM_WORLD_NODE_RANK=1 " +
				"OMPI_UNIVERSE_SIZE=16 PMI_RANK=9 PMI_SIZE=16 MPI_LOCALRANKID=1 MPI_LOCALNRANKS=8 PMI_LOCAL_RANK=1 PMI_LOCAL_SIZE=8",
		},
		{
			"Slurm's", []rankenv.Launcher{rankenv.Slurm},
			"SLURM_PROCID=9 SLURM_NTASKS=16 SLURM_LOCALID=1 SLURM_NODEID=1 SLURM_NNODES=2 SLURM_NPROCS=16 SLURM_JOB_NUM_NODES=2 SLURM_STEP_ID=0 " +
				"SLURM_STEP_NUM_TASKS=16 SLURM_STEP_NUM_NODES=2 SLURM_TASKS_PER_NODE=8(x2) SLURM_STEP_TASKS_PER_NODE=8(x2) SLURMD_NODENAME=node2",
		},
		{
			"JAX's", []rankenv.Launcher{rankenv.JAX},
			"JAX_PROCESS_ID=9 JAX_NUM_PROCESSES=16 JAX_COORDINATOR_ADDRESS=[fd00::1]:29500",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, tt.want, strings.Join(w.Environ(tt.as...), " "))
		})
	}
}

func TestEnvironSaysOnlyWhatIsKnown(t *testing.T) {
	w := rankenv.World{Size: 3, LocalSize: 1, Nodes: 2, Master: "no port"}
	for _, entry := range w.Environ(launchers...) {
		name, value, ok := strings.Cut(entry, "=")
		require.True(t, ok)
		require.NotEmpty(t, value, name)
		require.NotContains(t, []string{
			"GORUN_HOST", "GORUN_GPUS", "MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID",
			"SLURM_TASKS_PER_NODE", "SLURM_STEP_TASKS_PER_NODE", "SLURMD_NODENAME",
		}, name)
	}
}

// drawWorld draws any world that a launcher could describe.
func drawWorld(t *rapid.T) rankenv.World {
	w := rankenv.World{By: rankenv.Gorun}
	w.Size = rapid.IntRange(1, 200).Draw(t, "Size")
	w.Rank = rapid.IntRange(0, w.Size-1).Draw(t, "Rank")
	w.LocalSize = rapid.IntRange(1, w.Size).Draw(t, "LocalSize")
	w.LocalRank = rapid.IntRange(0, w.LocalSize-1).Draw(t, "LocalRank")
	w.Nodes = rapid.IntRange(1, w.Size).Draw(t, "Nodes")
	w.Node = rapid.IntRange(0, w.Nodes-1).Draw(t, "Node")
	w.Attempt = rapid.IntRange(0, 9).Draw(t, "Attempt")
	word := rapid.StringMatching(`[a-z0-9=ü./-]{0,9}`)
	w.Host = word.Draw(t, "Host")
	w.Job = word.Draw(t, "Job")
	w.Socket = word.Draw(t, "Socket")
	w.GPUs = rapid.SampledFrom([][]string{nil, {"0"}, {"GPU-5e1f", "MIG-7"}}).Draw(t, "GPUs")
	w.Addr = rapid.SampledFrom([]string{"", "10.0.0.1", "fe80::1%eth0"}).Draw(t, "Addr")
	if host := rapid.SampledFrom([]string{"", "node1", "10.0.0.1", "::1", "fe80::1%eth0"}).Draw(t, "master"); host != "" {
		w.Master = net.JoinHostPort(host, "29500")
	}
	return w
}

// inWordsOf returns what remains of w in the variables of one launcher.
func inWordsOf(l rankenv.Launcher, w rankenv.World) rankenv.World {
	if l == rankenv.Gorun {
		return w
	}
	said := rankenv.World{Rank: w.Rank, Size: w.Size, LocalSize: 1, By: l}
	if l != rankenv.JAX {
		said.LocalRank, said.LocalSize = w.LocalRank, w.LocalSize
	}
	if l == rankenv.Slurm && w.LocalSize*w.Nodes != w.Size {
		said.LocalSize = max((w.Size+w.Nodes-1)/w.Nodes, w.LocalRank+1)
	}
	said.Node, said.Nodes = w.Node, w.Nodes
	if l != rankenv.Torch && l != rankenv.Slurm {
		said.Node, said.Nodes = w.Rank/said.LocalSize, (w.Size+said.LocalSize-1)/said.LocalSize
	}
	switch l {
	case rankenv.Torch:
		said.Master, said.Attempt = w.Master, w.Attempt
	case rankenv.JAX:
		said.Master = w.Master
	case rankenv.Slurm:
		said.Host = w.Host
	}
	return said
}

func TestParseReadsEnviron(t *testing.T) {
	for _, l := range launchers {
		t.Run(string(l), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				w := drawWorld(t)
				again, err := rankenv.Parse(w.Environ(l))
				require.NoError(t, err)
				require.Equal(t, inWordsOf(l, w), again)
			})
		})
	}
}

func TestParseReadsEnvironOfSeveral(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		others := rapid.Permutation(launchers[1:]).Draw(t, "others")
		n := rapid.IntRange(0, len(others)).Draw(t, "n")
		if w.Host == "" || w.Master == "" {
			n = 0 // the others could complete what is not said
		}
		as := append([]rankenv.Launcher{rankenv.Gorun}, others[:n]...)
		again, err := rankenv.Parse(w.Environ(as...))
		require.NoError(t, err)
		require.Equal(t, w, again)
	})
}

func TestWorldString(t *testing.T) {
	w := rankenv.World{Rank: 3, Size: 16, LocalRank: 3, LocalSize: 8, Nodes: 2, Host: "node1", By: rankenv.Gorun}
	require.Equal(t, "rank 3 of 16 on node1 (3 of 8 there, by gorun)", w.String())
	w = rankenv.World{Size: 1, LocalSize: 1, Nodes: 1}
	require.Equal(t, "rank 0 of 1 (0 of 1 there, no launcher)", w.String())
}

func FuzzParse(f *testing.F) {
	for _, l := range launchers {
		w := rankenv.World{Rank: 5, Size: 12, LocalRank: 1, LocalSize: 4, Node: 1, Nodes: 3, Host: "h", Job: "j", Master: "[::1]:1"}
		f.Add(strings.Join(w.Environ(l), "\n"))
	}
	f.Add("RANK=0\nWORLD_SIZE=1\nPMI_RANK=0\nPMI_SIZE=1")
	f.Add("TORCHELASTIC_RUN_ID=x\nRANK=0\nWORLD_SIZE=1")
	f.Add("SLURM_PROCID=1\nSLURM_NTASKS=9\nSLURM_LOCALID=1\nSLURM_NODEID=8\nSLURM_NNODES=9\nSLURM_TASKS_PER_NODE=1(x8),2")
	f.Add("GORUN_RANK=0\nGORUN_SIZE=2147483647\nGORUN_GPUS=,\n=\nx")
	f.Fuzz(func(t *testing.T, environ string) {
		w, err := rankenv.Parse(strings.Split(environ, "\n"))
		if err != nil {
			require.Zero(t, w)
			return
		}
		require.True(t, 0 <= w.Rank && w.Rank < w.Size, w)
		require.True(t, 0 <= w.LocalRank && w.LocalRank < w.LocalSize && w.LocalSize <= w.Size, w)
		require.True(t, 0 <= w.Node && w.Node < w.Nodes && w.Nodes <= w.Size, w)
		require.GreaterOrEqual(t, w.Attempt, 0)

		again, err := rankenv.Parse(w.Environ(rankenv.Gorun))
		require.NoError(t, err)
		w.By = rankenv.Gorun
		require.Equal(t, w, again)
	})
}

// BenchmarkEnviron writes the variables of a host's 256 ranks.
func BenchmarkEnviron(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		for rank := range 256 {
			w := rankenv.World{
				Rank: rank, Size: 256, LocalRank: rank, LocalSize: 256, Nodes: 1, Host: "node1", Job: "j1",
				GPUs: []string{"0"}, Addr: "10.0.0.1", Master: "10.0.0.1:29500", Socket: "/tmp/gorun-0/j1/socket", By: rankenv.Gorun,
			}
			w.Environ(rankenv.Gorun, rankenv.Torch, rankenv.OpenMPI)
		}
	}
}
