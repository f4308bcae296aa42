package launcher

import (
	"context"
	"io"
	"log/slog"
	"os"
	"syscall"
	"time"

	"github.com/gorun/gorun/hostfiles"
	"github.com/gorun/gorun/launcher/placement"
	"github.com/gorun/gorun/launcher/remote"
	"github.com/gorun/gorun/rankenv"
)

// Job is what to run. Only Apps is required. [Run] does not change it.
type Job struct {
	Apps      []App            // the programs; ranks are numbered in this order
	Hosts     []hostfiles.Host // nil: those of the scheduler's allocation, else this host
	Exclude   string           // hosts, or GPUs of hosts, that are left out, as hostfiles.Exclude takes them
	NoLocal   bool             // this host is left out
	Nodes     int              // only the first so many hosts that are left take part; 0: all
	Placement placement.Policy
	Env       Env
	Streams   Streams
	Limits    Limits

	Spares    int  // this many last hosts are held back; each takes the place of one that cannot be reached, is not fit or was lost
	Preflight bool // examine the hosts before ranks start: clocks, memory, GPUs, network
	Strict    bool // refuse what is otherwise warned of before ranks start: strict.go lists it
	Continue  bool // a rank or host that fails does not end the job, whose status is still that of the first failure
	Restarts  int  // after the failure of a rank or host, start all ranks anew so often; then without standard input

	// Stacks tells by StackTrace events where the processes of all ranks are,
	// before Limits.Run ends them and before QUIT goes to them: in the kernel
	// and, as far as the host has debuggers, in their functions. It takes ten
	// seconds, or Limits.Grace, at most. Go programs print their goroutines.
	Stacks bool

	Wrap Wrap
	// Rlimits are limits of ranks' resources, soft and hard, by setrlimit(2)'s
	// names in lower case: memlock, nofile, core and stack; -1 is unlimited. A
	// host that allows less gives what it allows, with a warning.
	Rlimits map[string]int64
	// Templates fills {rank}, {local_rank}, {host}, {world_size} and {job} in
	// Apps' Args, Env and Dir, in Wrap, and in the values of Env's Set, Prepend
	// and Append. {{ is a brace.
	Templates bool

	Stage bool     // copy the program to the hosts, by content hash
	Files []string // copied to the hosts too, into the folder of the staged program

	// Network is the interface of the job's traffic on each host, by its exact
	// name or by a network that its address is in, "10.7.0.0/16"; "": addr= of
	// the entry, else where SSH reached the host. iface= of an entry is that
	// host's own.
	Network string
	// Ports, "A-B", are for the listeners of the job: gossip, engines, and what
	// MasterPort, 0, is chosen from. "": outside of the kernel's ephemeral ports.
	Ports string
	// MasterPort is rank 0's, where ranks meet; it must be free; 0: one that is.
	MasterPort int

	// Allocation is "auto", the default, which takes hosts and slots from the
	// batch scheduler that this process runs under (package allocation), or
	// "none". Hosts that are named all the same count as they are written; those
	// of the allocation have its slots if they are written without.
	Allocation string
	// Launcher is how agents are started on hosts that are not this one: "ssh";
	// "slurm", by srun on nodes of the Slurm job that this process is part of;
	// "local", which refuses such hosts. "" and "auto" are slurm for a node of the
	// job, unless its entry tells how to log in, and ssh for any other host.
	Launcher string
	// Local is "auto", the default, which starts the agent of an entry that
	// means this host as a child, or "never", which logs in even there.
	Local string
	SSH   SSH
	// Agent is the path of the gorun binary that serves as agent; "" is this
	// process's own executable, which is right only for the gorun command.
	Agent string

	// Signals are acted on: INT, TERM and HUP end the job, TSTP pauses it and
	// stops this process until CONT, others go to every rank's process group.
	// nil: none come.
	Signals <-chan os.Signal
	Events  func(Event)  // called in order, one at a time; it may slow the job, it misses nothing; nil: none
	Log     *slog.Logger // what the remote shells print and similar detail; nil: silent
}

// App is one program of a job.
type App struct {
	Args  []string // Args[0] is the program: a path, or a name looked up in the rank's PATH
	Env   []string // "NAME=value", over Job.Env
	Ranks int      // 0: one per slot; with no hosts, one per GPU, else 1; required if there are several programs
	Dir   string   // working folder, which must exist on every host; "": the launcher's where it exists, else the home
	// MakeDir makes Dir, and the folders above it, on hosts where it is missing.
	MakeDir bool
	Umask   *int // nil: that of a login on the host
}

// Wrap is a program that starts others, as a debugger or a profiler does: it
// gets the program's path and arguments behind its own.
type Wrap struct {
	Command []string // Command[0] is looked up in the rank's PATH; empty: none
	Ranks   []int    // nil: all
}

// Env is what ranks inherit beside the variables that tell them their place.
type Env struct {
	Export string   // all, listed, none; "": all. "all" leaves out what belongs to a login
	Pass   []string // names or patterns such as "HF_*" of the launcher's environment
	Unset  []string // names or patterns that ranks get neither from the launcher nor from their host; Set comes after
	Set    []string // "NAME=value"
	// Origin says where entries of Set are from, "--env-file job.env:3", for
	// messages; of others -x is the flag.
	Origin map[string]string
	// Prepend and Append are "NAME=value": on each host, value is put before or
	// behind the one that ranks inherit, else the host's own, with a colon.
	Prepend, Append []string
	CommID          bool // set NCCL_COMM_ID, by which NCCL's ranks meet at rank 0 without being handed an id
	// Compat is whose variables ranks get beside gorun's own; nil: those of
	// torch, Open MPI, PMI and JAX; empty: no one's. JAX's come with Open MPI's.
	// With PMI's come the means to ask for more, see package pmi.
	Compat []rankenv.Launcher
}

// Streams connects the ranks' standard streams. Output comes in whole lines
// with its bytes unchanged; a slow Writer slows the ranks.
type Streams struct {
	Stdin          io.Reader // nil: end of file
	StdinTo        int       // the rank that reads Stdin, or AllRanks: a copy for each, at the pace of the slowest
	Stdout, Stderr io.Writer // not written to at the same time; nil: discarded
	Tag            string    // before each line, "{host}:{rank}| "; "": nothing
	Raw            bool      // bytes as they come, without waiting for lines to end
	Dir            string    // folder, made if need be, of files that get all output too: rank.N.out and rank.N.err; "": none
	Show           []int     // ranks that reach the Writers; nil: all
	PTY            []int     // ranks that get a terminal; if Stdin is one, the rank that reads it gets that
	Merge          bool      // a rank's standard error is its standard output, in the order in which it writes
}

// Limits bounds the job in time. 0 is the default and a negative value none.
type Limits struct {
	Run   time.Duration // of the whole job, restarts included; default none
	Early EarlySignal   // sent to all ranks before Run is over; zero: nothing
	Start time.Duration // until all agents have answered, uploads not counted; default 60 s
	Init  time.Duration // from the first rank that joins until all must have; default 60 s
	Grace time.Duration // from TERM to KILL; default 10 s
	Node  time.Duration // silence after which a host counts as lost; default 15 s
}

// EarlySignal is a signal that gives ranks time to save their work.
type EarlySignal struct {
	Signal syscall.Signal
	Before time.Duration // the end of Limits.Run
}

// SSH says how to log in, as ssh's flags do.
type SSH struct {
	Port              int    // -p, where the host does not say
	Key               string // -i
	Jump              string // -J, where the host does not say: "a,b" goes through a, then b; "none": directly
	Config            string // -F: an ssh_config; "": the user's and the system's; "none": neither
	Agent             string // socket of the signing agent; "": as configured, else $SSH_AUTH_SOCK; "none": no agent
	Rsh               string // a command that logs in instead, "ssh -x {host}"; see [remote.SSH]
	AcceptNewHostKeys bool   // store the key of a host that is not known yet

	// Prompt asks the user; it may be called for several hosts at once. nil:
	// encrypted keys work through the signing agent only, and nothing that
	// servers ask for is answered.
	Prompt func(ctx context.Context, q Question) ([]byte, error)
}

// Question is what a locked key or a server wants to know of the user.
type Question = remote.Question

// The limits in force.
func (l Limits) start() time.Duration { return limit(l.Start, 60*time.Second) }
func (l Limits) init() time.Duration  { return limit(l.Init, 60*time.Second) }
func (l Limits) grace() time.Duration { return limit(l.Grace, 10*time.Second) }
func (l Limits) node() time.Duration  { return limit(l.Node, 15*time.Second) }

func limit(set, usual time.Duration) time.Duration {
	switch {
	case set == 0:
		return usual
	case set < 0:
		return 0
	}
	return set
}
