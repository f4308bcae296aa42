// Package rankenv tells a process its place in its job, whichever launcher
// started it: [Current] reads the environment, [Parse] any list of variables,
// and [World.Environ] writes the variables by which the programs of each
// launcher know their place.
//
// # Whose variables are believed
//
// gorun, torchrun, Open MPI, MPICH's Hydra (PMI), Slurm and JAX each have their
// own variables, and one environment often has several sets of them, some left
// over from a launcher further out. The first set that is there, in that order, is
// believed, under three rules:
//
//   - A worker of torchrun, which has TORCHELASTIC_RUN_ID, is what torchrun
//     says, alone: whatever started torchrun also left its variables there.
//   - Otherwise the sets of gorun, torch, Open MPI and PMI must agree where
//     several are there. A program could follow any of them, so a disagreement
//     is an error, [*ConflictError], and no choice.
//   - Slurm's and JAX's count only when no other is there: a whole allocation
//     inherits Slurm's. In a batch script, which has Slurm's variables but is
//     no task of a step, they do not count at all.
//
// A rank without a size, or the reverse, is an error, [*VarError], and so is a
// value that is no number or out of its range. A variable set to nothing is as
// good as none.
//
// # What a launcher does not say
//
// Places among hosts, the host's name and the master are taken from the next
// set that has the same rank and size. If none says which ranks share a host,
// each is taken to have its own, as in Kubernetes. If none numbers the hosts,
// they are taken to be filled in rank order, LocalSize ranks on each.
//
// # Cost
//
// The package imports the standard library only. It neither caches nor changes
// the environment.
package rankenv

import "fmt"

// World is a process's place in its job. [Current] never returns the zero World.
type World struct {
	Rank, Size           int // 0 ≤ Rank < Size
	LocalRank, LocalSize int // the same among the ranks of this host; LocalSize ≤ Size
	Node, Nodes          int // the same among the hosts; Nodes ≤ Size

	Host    string // this host's name in the plan, else os.Hostname
	Job     string // job id; "" without a launcher
	Attempt int    // how often the job was restarted before

	GPUs   []string // UUIDs or indexes meant for this rank; nil: not said
	Addr   string   // IP address at which the other hosts reach this one; "": not said
	Master string   // host:port on rank 0's host; "": not said
	Socket string   // path of the agent's job socket; "": not said

	By Launcher // whose variables were believed
}

// String returns, for example, "rank 3 of 16 on node1 (3 of 8 there, by gorun)".
func (w World) String() string {
	host, by := "", "no launcher"
	if w.Host != "" {
		host = " on " + w.Host
	}
	if w.By != None {
		by = "by " + string(w.By)
	}
	return fmt.Sprintf("rank %d of %d%s (%d of %d there, %s)", w.Rank, w.Size, host, w.LocalRank, w.LocalSize, by)
}

// Launcher names the launcher whose set of variables described the world.
type Launcher string

// The launchers whose variables are understood.
const (
	Gorun   Launcher = "gorun"
	Torch   Launcher = "torch"
	OpenMPI Launcher = "ompi"
	PMI     Launcher = "pmi"
	Slurm   Launcher = "slurm"
	JAX     Launcher = "jax"
	None    Launcher = ""
)
