package rankenv

// World is a process's place in its job. [Current] never returns the zero World.
type World struct {
	Rank, Size           int // 0 ≤ Rank < Size
	LocalRank, LocalSize int // the same among the ranks of this host
	Node, Nodes          int // the same among the hosts

	Host    string // this host's name in the plan, else os.Hostname
	Job     string // job id; "" without a launcher
	Attempt int    // how often the job was restarted before

	GPUs   []string // UUIDs or indexes meant for this rank; nil: not said
	Addr   string   // IP address at which the other hosts reach this one; "": not said
	Master string   // host:port on rank 0's host; "": not said
	Socket string   // path of the agent's job socket; "": not said

	By Launcher // whose variables were believed
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
