package wire

import (
	"github.com/gorun/gorun/nccl/topo"
)

// Hello is the first message of an agent: what it is and what its host is.
type Hello struct {
	Magic      string      // Magic
	Table      string      // TableHash of the agent's program
	Version    string      // of the program, for people
	Machine    string      // the same for agents that share a running kernel, its network and its mounts; "": not known
	Interfaces []Interface // those that have addresses
	FreePort   int         // a TCP port free on every address of the host, outside the ephemeral range; 0: none
	HighPort   int         // another, from 61440 on, which JAX can be told in Open MPI's way; 0: none

	Topo topo.Inventory // what ranks may use there; its slices are bounded by topo
}

// Interface is a network interface of a host.
type Interface struct {
	Name  string
	Up    bool     // it could carry something now
	Addrs []string // with the lengths of their prefixes, "10.0.0.2/24"
}

// FindPorts asks for ports that are free for TCP on every address of the host.
type FindPorts struct{ Ranges []PortRange }

// PortRange is where a port is looked for; zero: where the kernel does not give
// ports to connections by itself.
type PortRange struct{ First, Last int }

// FoundPorts answers FindPorts: a port for each range, all different, 0 where
// none is free.
type FoundPorts struct{ Ports []int }

// Probe has an agent find out at which addresses it reaches other hosts, and
// let them find out about it: whoever connects to Port of Listen is told Token,
// until Start comes.
type Probe struct {
	Listen  []string // IP addresses of this host
	Port    int
	Token   []byte // 16 random bytes, by which a host is known from another with its address
	Targets []Target
}

// Target is a host to probe.
type Target struct {
	Addrs []string // IP addresses, the best first
	Port  int
	Token []byte
}

// Probed answers Probe.
type Probed struct{ Seen []Sighting } // of each target

// Sighting is what an agent found out about a target.
type Sighting struct {
	Reached []int  // the indexes in Addrs at which it was reached
	Error   string // why not at the first of Addrs
}

// File announces a file that follows in FileData, if the agent wants it.
type File struct {
	Name string // without folders; the file's name beside the program
	Hash string // SHA-256, hexadecimal
	Size int64
	Mode int
}

// FileWanted answers File, and the last FileData. Error says why the file
// cannot be kept; "" is none.
type FileWanted struct {
	Name   string
	Wanted bool // false: the agent has all its bytes
	Error  string
}

// FileData is the next piece of the file that was announced last, at most
// MaxData bytes.
type FileData struct{ Data []byte }

// Examine asks, before Start, what the host's condition is.
type Examine struct{}

// Examined answers Examine.
type Examined struct {
	Time         int64 // Unix time in nanoseconds
	SharedMemory int64 // bytes free in /dev/shm
	LockedMemory int64 // bytes that a process may lock; -1: any number
}

// Start tells the agents of the job, the same to all of them, so that it is
// encoded once. It is sent once.
type Start struct {
	Job      string
	Attempt  int    // how often the job was restarted before
	Restarts int    // how often it may be
	Path     string // GORUN_JOB_PATH of the launcher, for a job inside a job
	Key      []byte // the job key, 32 random bytes; a secret
	Hosts    []Host
	Apps     []App
	Env      []string  // "NAME=value", the same for every rank
	PathEnv  string    // PATH of the launcher, which comes before the host's own
	Unset    []string  // patterns of names that the host does not add to Env
	Compat   []string  // the launchers whose variables ranks get, gorun first
	Strict   bool      // what is odd about the host is a reason not to start; ranks wait for Proceed if there are other hosts
	Rlimits  []Rlimit  // of every rank; those that are not named are the agent's
	Stdin    []int     // the ranks that read what is forwarded of standard input
	PTY      []int     // the ranks that get a terminal
	Screen   Resize    // the size of these terminals
	Merge    bool      // standard error goes where standard output goes
	Master   string    // host:port
	CommID   string    // NCCL_COMM_ID; "": none
	Ports    PortRange // of all listeners of the job; zero: any
	HNP      string    // OMPI_MCA_orte_hnp_uri, by which JAX knows Open MPI; "": none
	Timeout  int64     // silence in nanoseconds after which either side gives the other up; 0: never
	Grace    int64     // nanoseconds between TERM and KILL if the launcher is lost
	Window   int64     // of output that may be sent before the first Credit, by Output.Cost
}

// Begin follows Start: which of the hosts the agent's is, and what of it each of
// its ranks gets. They start now, unless the job is strict.
type Begin struct {
	Node  int
	Seats []Seat   // in order of local rank
	NICs  []string // the RDMA devices that serve the ranks' GPUs; empty: any
	Pipes bool     // standard input is a socket, over which the launcher takes the ranks' pipes
}

// ShowEnv follows Start in place of Begin: nothing starts, and the agent answers
// with what a rank would get.
type ShowEnv struct {
	Begin Begin
	Local int // the rank's local number
}

// Block answers ShowEnv: a rank's environment, as "NAME=value".
type Block struct{ Env []string }

// Host is one host of the job, in ring order.
type Host struct {
	Name  string
	Addr  string // IP address at which the others reach it
	Iface string // the interface that the user chose for NCCL; "": none
	Ranks []int  // in order of local rank
}

// Seat is what a rank gets of its host, see placement.Seat.
type Seat struct {
	CPUs    []int    // it is bound to; empty: not bound
	GPUs    []string // its own, as CUDA_VISIBLE_DEVICES names them
	Visible []string // those that it sees; empty: not decided
}

// App is one program.
type App struct {
	Args    []string
	Env     []string // "NAME=value", over Start.Env
	Prepend []string // "NAME=value" to put before what is there, with a colon
	Append  []string // the same behind it
	Wrap    []string // the words of a program that is started with this one behind it; empty: none
	Wrapped []int    // the ranks for which it is; empty: all
	Dir     string
	MakeDir bool // make Dir where it is missing
	Umask   int  // -1: the agent's
	// Templates says that Args, Wrap, Dir and the values of variables are
	// templates, see package template.
	Templates bool
	DirHint   bool   // Dir is only where the launcher was: the home serves where it is missing
	Staged    string // the file, of those sent before, that is the program; "": it is on the host
	Ranks     []int  // who runs it
}

// Rlimit is a limit of resources by setrlimit(2)'s name, as "nofile".
type Rlimit struct {
	Name string
	N    int64 // soft and hard; -1: unlimited
}

// Ready answers Start once the agent's own services stand: the address of its
// gossip member, "" for a job of one host.
type Ready struct{ Gossip string }

// Facts follows Ready in a job of several hosts: what should be alike on all of
// them. With Start.Strict ranks do not start before Proceed.
type Facts struct {
	Time  int64 // Unix time in nanoseconds, after Begin
	Facts []Fact
}

// Fact is something that is compared among the hosts that tell it.
type Fact struct {
	What   string   // for people, "program ./train"
	Values []string // for people too, sorted: versions, digests, settings
	Where  string   // the file that it is about; "": none
}

// Proceed lets the ranks of a strict job start.
type Proceed struct{}

// Meet tells an agent where the members of the other hosts are.
type Meet struct{ Gossip []string }

// Started tells that a rank's program runs.
type Started struct{ Rank, PID int }

// NotStarted tells that a rank's program could not be started, and why.
type NotStarted struct {
	Rank    int
	Path    string // what could not be used
	Part    string // what Path is, see the constants
	Missing bool   // it does not exist
	// Exhausted says that the host lacked something, not the program.
	Exhausted bool
	Error     string
	Hint      string
}

// What the start of a program needs.
const (
	PartProgram     = "program"
	PartInterpreter = "interpreter" // of the program that Path is
	PartFolder      = "folder"      // in which it starts
	PartWrapper     = "wrapper"     // what is put before it
)

// Stream is one of a rank's output streams.
type Stream uint8

// The output streams, by file descriptor.
const (
	Stdout Stream = 1
	Stderr Stream = 2
)

// OutputEnd tells that a rank's stream has ended.
type OutputEnd struct {
	Rank   int
	Stream Stream
}

// Input is standard input for the ranks that Start named, all of it for each.
type Input struct{ Data []byte }

// InputEnd ends these ranks' standard input.
type InputEnd struct{}

// Resize gives the ranks' terminals another size.
type Resize struct{ Rows, Columns int }

// InputTaken tells that the pipes of all the host's ranks that read took so many
// bytes of Input, or, with Closed, that none of them reads any more.
type InputTaken struct {
	Bytes  int
	Closed bool
}

// Joined tells that a rank has opened the job, to meet others.
type Joined struct{ Rank int }

// Asked tells that a rank waits for the epoch after this one, in which it has
// that number.
type Asked struct{ Epoch, Rank int }

// Exited tells how a rank ended.
type Exited struct {
	Rank   int
	Code   int // exit status; -1: killed by Signal
	Signal int // 0: none
	// The kernel's out-of-memory killer was at work in the agent's control
	// group, or somewhere on the host.
	OOM, HostOOM bool
	Clock        int64 // when, in nanoseconds by the clock of the agent's heartbeats
	Told         bool  // it lived when the agent began to end the job
	Aborted      bool  // it has asked by PMI for the end of the job, with Code; its process may still live
	Unfinalized  bool  // it has used PMI, and left with 0 before it had finalized that; Code is 1
}

// Signal is sent on to the process group of every rank.
type Signal struct{ Signal int }

// Stop ends the ranks: Signal, TERM if that is another, KILL when Grace
// nanoseconds are over, then whatever else of the job is left.
type Stop struct {
	Signal int
	Grace  int64
}

// Pause stops every process of the job: TSTP, then STOP for those that go on.
// Until Resume, neither side's lease runs, and no grace.
type Pause struct{}

// Paused answers Pause when they have stopped, or for the most part.
type Paused struct{}

// Resume lets the processes go on.
type Resume struct{}

// TakeStacks asks where the ranks are, within so many nanoseconds. With Ending
// Go programs are then made to print their goroutines, which ends them.
type TakeStacks struct {
	Within int64
	Ending bool
}

// Stack tells where a process of a rank is, in lines for people.
type Stack struct {
	Rank, PID int
	Text      string
}

// StacksTaken ends the answer to TakeStacks.
type StacksTaken struct{}

// Suspected tells that another host, by its index in Start, does not answer the
// agent's gossip member. It is a hint.
type Suspected struct{ Node int }

// Done tells that every rank has ended, all output was sent and no process of
// the job is left on the host but Left, which could not be killed.
type Done struct{ Left []int }

// Clean asks for what lost jobs have left on the host: to be listed only, if
// Dry, or ended and removed. It is the only message to an agent that was
// started for it.
type Clean struct {
	Jobs  []string // no others; empty: all
	Dry   bool
	Cache bool // remove disused files of the user's cache too
}

// Cleaned answers Clean.
type Cleaned struct {
	Lost         []LostJob
	Running      []string // jobs that have an agent and were left alone
	Disused      int      // files of the cache that nothing has used for long
	DisusedBytes int64
	Problems     []string
}

// LostJob is what a job without an agent has left on a host.
type LostJob struct {
	Job       string
	User      string // whose it is, by name if that is known there
	Processes []LostProcess
	Folders   []string
	Groups    []string // folders of control groups
	Problems  []string // why something of it is still there
}

// LostProcess is a process of a lost job.
type LostProcess struct {
	PID     int
	Command string
}

// Notice is a sentence for the user.
type Notice struct{ Text string }

// Credit gives the agent back what output has cost, see Output.Cost.
type Credit struct{ Bytes int64 }

// Report tells of an event that the launcher decided: see rendezvous.Event.
type Report struct {
	Kind, Host, Cause string
	Epoch             int
	Ranks             []int // by their numbers in the epoch
	Clock             int64
}

// Beats is how many heartbeats go into the time after which silence counts.
const Beats = 5

// Heartbeat keeps the other side's lease. It is answered by Echo. Its clock counts
// nanoseconds from any time on, and does not jump.
type Heartbeat struct{ Clock int64 }

// Echo returns a heartbeat's clock together with the answering side's own.
type Echo struct{ Sent, Clock int64 }

// Relay carries a message between the gossip members of two hosts through the
// launcher. Node is the receiver's index on the way up, the sender's on the
// way down.
type Relay struct {
	Node    int
	Payload []byte
}
