package main

import (
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/gorun/gorun/launcher/placement"
	"github.com/gorun/gorun/launcher/stdio"
)

// maxRanks bounds the world size: far above any job, low enough that a slip
// of the finger is refused before anything is allocated by it.
const maxRanks = 1 << 20

// flag is a flag of the library's that knows its names. The library's own
// Names makes them anew by a regular expression, and App.Run asks every flag
// about every other; its own String writes a help of which App.Run keeps nothing.
// Each is half a millisecond.
type flag struct {
	*cli.GenericFlag
	names []string
}

func (f flag) Names() []string { return f.names }

func (f flag) String() string { return f.Name }

// flags returns the table of flags, each of which applies to c. The library
// parses by it, the help is made from it, and the pre-pass takes arities from
// it. A new flag is one entry here, and one of each of several programs stands
// in ofOneProgram too. The spellings of Open MPI and Hydra are
// aliases where they mean the same. One without a usage is accepted and left
// out of the help.
func (c *command) flags() (flags []cli.Flag) {
	group := func(title string, entries []*cli.GenericFlag) {
		for _, f := range entries {
			f.Category, f.Hidden = title, f.Usage == ""
			flags = append(flags, flag{f, append([]string{f.Name}, f.Aliases...)})
		}
	}
	job, app := &c.job, c.program()
	group("Size and hosts", []*cli.GenericFlag{
		{Name: "np", Aliases: []string{"n"}, Usage: "world size; absent: the sum of the slots, without hosts one for each GPU, else 1",
			Value: &value{c, "N", number(&app.Ranks, 1, maxRanks, "of ranks", "4")}},
		{Name: "N", Aliases: []string{"ppn", "npernode", "nproc-per-node"}, Usage: "ranks on each host (srun's -N means nodes)",
			Value: &value{c, "N|gpu", c.perHost}},
		{Name: "nnodes", Usage: "use the first N hosts only",
			Value: &value{c, "N", c.nodes}},
		{Name: "hostfile", Aliases: []string{"f", "machinefile"}, Usage: "file of hosts, - for standard input; else those of --allocation, else the file GORUN_HOSTFILE",
			Value: &value{c, "F", func(s string) error {
				if s == "-" {
					c.hostfile = s
					return nil
				}
				return path(&c.hostfile, "hosts")(s)
			}}},
		{Name: "H", Aliases: []string{"host", "hosts"}, Usage: "hosts: a:2,b[01-04]:8,[::1]:2,user@c; :N are the slots",
			Value: &value{c, "LIST", func(s string) error {
				if s == "" || s[0] == '-' {
					return &valueError{"a list of hosts", "a:2,b:2"}
				}
				c.hostList = append(c.hostList, s)
				return nil
			}}},
		{Name: "exclude", Usage: "leave out these hosts, or their GPUs: a,b[01-04],c:0,2-3",
			Value: &value{c, "LIST", c.excludeHosts}},
		{Name: "nolocal", Usage: "leave out this host",
			Value: c.toggle(func() { job.NoLocal = true })},
		{Name: "app", Aliases: []string{"configfile"}, Usage: "file of programs, one a line with its flags",
			Value: &value{c, "F", path(&c.appFile, "programs")}},
		{Name: "oversubscribe", Usage: "allow more ranks than declared slots",
			Value: c.toggle(func() { c.oversubscribe(true) })},
		{Name: "nooversubscribe", Usage: "no more ranks than slots either where those are not declared, which otherwise is only noted",
			Value: c.toggle(func() { c.oversubscribe(false) })},
		{Name: "spares", Usage: "hold the last N hosts back for those that fail",
			Value: &value{c, "N", number(&job.Spares, 0, maxRanks, "of hosts", "1")}},
		{Name: "allocation", Usage: "inside Slurm, PBS, LSF or Grid Engine take hosts and slots from it, before GORUN_HOSTFILE; hosts named by -H or -hostfile have its slots",
			Value: &value{c, "auto|none", oneOf(&job.Allocation, "auto", "none")}},
		{Name: "preflight", Usage: "examine the hosts first: clocks, shared memory, GPUs, network; spares replace those that fail",
			Value: c.toggle(func() { job.Preflight = true })},
		{Name: "local", Usage: "how to reach this very host: directly, or by logging in",
			Value: &value{c, "auto|never", oneOf(&job.Local, "auto", "never")}},
	})
	group("Placement", []*cli.GenericFlag{
		{Name: "map-by", Usage: strings.Join(mappings, ", ") + ", ppr:N:node or rankfile:F, and :PE=N, :OVERSUBSCRIBE",
			Value: &value{c, "HOW", c.mapBy}},
		{Name: "rank-by", Usage: "number the ranks host by host, or across hosts",
			Value: &value{c, "slot|node", oneOf(&job.Placement.RankBy, placement.BySlot, placement.ByNode)}},
		{Name: "bind-to", Usage: alternatives(bindings) + "; the default is gpu, the CPUs next to the rank's, else share",
			Value: &value{c, "WHAT", c.bindTo}},
		{Name: "cpus-per-rank", Usage: "cores for each rank",
			Value: &value{c, "N", number(&job.Placement.CPUsPerRank, 1, maxRanks, "of cores", "4")}},
		{Name: "gpus-per-rank", Usage: "GPUs for each rank; auto is one, shared if there are too few",
			Value: &value{c, "N|auto", c.gpusPerRank}},
		{Name: "gpu-visible", Usage: "which GPUs a rank sees: all of the job's there (its own is device LOCAL_RANK), or its own",
			Value: &value{c, "all|own", oneOf(&job.Placement.GPUVisible, placement.AllVisible, placement.OwnVisible)}},
		{Name: "report-bindings", Usage: "say what CPUs, GPUs and adapters each rank gets",
			Value: c.toggle(func() { c.reportBindings = true })},
		{Name: "display-map", Usage: "print where the ranks go",
			Value: c.toggle(func() { c.displayMap = true })},
		{Name: "json", Usage: "print that as JSON",
			Value: c.toggle(func() { c.json = true })},
		{Name: "dry-run", Aliases: []string{"do-not-launch"}, Usage: "reach the hosts, print where the ranks would go, and start none",
			Value: c.toggle(func() { c.dryRun = true })},
	})
	group("Environment, folders, files", []*cli.GenericFlag{
		{Name: "x", Usage: "pass a variable on, set it, or pass on all that match: 'NCCL_*'",
			Value: &value{c, "NAME[=VALUE]", c.passVariable}},
		{Name: "set-env", Usage: "the same for all of several programs, where -x is one's",
			Value: &value{c, "NAME=VALUE", c.setForAll}},
		{Name: "export", Usage: "what ranks inherit: all but a login's, only what -x names, nothing",
			Value: &value{c, "all|listed|none", func(s string) error { return oneOf(&job.Env.Export, "all", "listed", "none")(strings.ToLower(s)) }}},
		{Name: "env-file", Usage: "set the variables of this file, lines NAME=value; -x comes after; may be repeated",
			Value: &value{c, "F", func(s string) error {
				c.envFiles = append(c.envFiles, "")
				return path(&c.envFiles[len(c.envFiles)-1], "job.env")(s)
			}}},
		{Name: "unset-env", Usage: "a variable, or all that match, that ranks do not get; -x comes after",
			Value: &value{c, "NAME", c.unsetVariable}},
		{Name: "prepend-env", Usage: "on each host, put the value before the variable's own, with a colon",
			Value: &value{c, "NAME=VALUE", joinedVariable(&job.Env.Prepend)}},
		{Name: "append-env", Usage: "the same behind it",
			Value: &value{c, "NAME=VALUE", joinedVariable(&job.Env.Append)}},
		{Name: "env-compat", Usage: "whose variables ranks get: torch,ompi,pmi,jax (the default), slurm, all, none",
			Value: &value{c, "LIST", compatible(&job.Env.Compat)}},
		{Name: "show-env", Usage: "print what this rank would get, and start none",
			Value: &value{c, rankArg, number(&c.showEnv, 0, maxRanks-1, "as a rank", "0")}},
		{Name: "wdir", Aliases: []string{"wd"}, Usage: "working folder of the ranks; it must exist on every host",
			Value: &value{c, "DIR", path(&app.Dir, "/scratch/run")}},
		{Name: "wdir-create", Usage: "make the folder of -wdir on hosts where it is missing",
			Value: c.toggle(func() { app.MakeDir = true })},
		{Name: "umask", Usage: "umask of the ranks, in octal",
			Value: &value{c, "MASK", umask(&app.Umask)}},
		{Name: "rlimit", Usage: "limit of memlock, nofile, core or stack, soft and hard; may be repeated",
			Value: &value{c, "NAME=N", c.limitResource}},
		{Name: "wrap", Usage: "start ranks through this program, as 'valgrind --log-file=v.%p'",
			Value: &value{c, "CMD", c.wrapPrograms}},
		{Name: "wrap-ranks", Usage: "only these ranks: 0,4-7",
			Value: &value{c, "LIST", ranks(&job.Wrap.Ranks)}},
		{Name: "template", Usage: "fill {rank} {local_rank} {host} {world_size} {job} in arguments, variables and -wdir",
			Value: c.toggle(func() { job.Templates = true })},
		{Name: "stage", Aliases: []string{"preload-binary"}, Usage: "copy the program to the hosts",
			Value: c.toggle(func() { job.Stage = true })},
		{Name: "stage-file", Usage: "copy this file too, beside the program; may be repeated",
			Value: &value{c, "F", func(s string) error {
				job.Files = append(job.Files, "")
				return path(&job.Files[len(job.Files)-1], "config.json")(s)
			}}},
	})
	group("Streams", []*cli.GenericFlag{
		{Name: "l", Aliases: []string{"tag-output", "prepend-rank"}, Usage: `put "host:rank| " before every line, "... " where one over 64 KiB goes on`,
			Value: c.toggle(func() { job.Streams.Tag = stdio.HostRank })},
		{Name: "tag", Usage: "put this before every line, with {host}, {rank}, {local_rank}, {node} and {time} filled in",
			Value: &value{c, "FORMAT", tag(&job.Streams.Tag)}},
		{Name: "timestamp", Aliases: []string{"timestamp-output"}, Usage: "begin every line with the time at which it was read on its host",
			Value: c.toggle(func() { c.timestamp = true })},
		{Name: "raw", Usage: "pass bytes on as they come, without waiting for lines to end",
			Value: c.toggle(func() { job.Streams.Raw = true })},
		{Name: "stdin", Usage: "who reads standard input: a rank (0), all, a copy for each, or none; nobody where -hostfile - does",
			Value: &value{c, "RANK|all|none", standardInput(&c.stdin)}},
		{Name: "pty", Usage: "give this rank a terminal, and, unless --stdin says otherwise, standard input",
			Value: &value{c, rankArg, func(s string) error {
				job.Streams.PTY = []int{0}
				return number(&job.Streams.PTY[0], 0, maxRanks-1, "as a rank", "0")(s)
			}}},
		{Name: "output-dir", Usage: "write what each rank prints to DIR/rank.N.out and DIR/rank.N.err too",
			Value: &value{c, "DIR", path(&job.Streams.Dir, "out")}},
		{Name: "output-only", Usage: "write it nowhere else",
			Value: c.toggle(func() { c.outputOnly = true })},
		{Name: "output-filename", Value: &value{c, "DIR", func(s string) error {
			c.notes = append(c.notes, "the files of --output-filename are "+filepath.Join(s, "rank.N.out")+" and .err, as with --output-dir")
			return path(&job.Streams.Dir, "out")(s)
		}}},
		{Name: "show-ranks", Aliases: []string{"output-from"}, Usage: "show what these ranks print: 0,4-7",
			Value: &value{c, "LIST", ranks(&job.Streams.Show)}},
		{Name: "merge-stderr", Aliases: []string{"merge-stderr-to-stdout"}, Usage: "make standard error of the ranks part of their standard output",
			Value: c.toggle(func() { job.Streams.Merge = true })},
	})
	group("Control", []*cli.GenericFlag{
		{Name: "timeout", Usage: "end the job after this long, with status 124 (90, 1m30s)",
			Value: &value{c, "D", limit(&job.Limits.Run, "1h30m")}},
		{Name: "signal", Usage: "send this signal to the ranks so long before --timeout",
			Value: &value{c, "SIG@D", earlySignal(&job.Limits.Early)}},
		{Name: "grace", Usage: "how long after TERM to send KILL (10)",
			Value: &value{c, "D", limit(&job.Limits.Grace, "30")}},
		{Name: "start-timeout", Usage: "how long a host has to answer (60; 0: for ever)",
			Value: &value{c, "D", limit(&job.Limits.Start, "2m")}},
		{Name: "init-timeout", Usage: "how long ranks wait for others to join them before one that left ends the job (60; 0: for ever)",
			Value: &value{c, "D", limit(&job.Limits.Init, "2m")}},
		{Name: "on-failure", Usage: "end the job when a rank fails, or let the others go on",
			Value: &value{c, "stop|continue", c.onFailure}},
		{Name: "strict", Usage: "refuse what is otherwise warned of before ranks start",
			Value: c.toggle(func() { job.Strict = true })},
		{Name: "print-all-exitcodes", Usage: "list how every rank ended, not only where several failed",
			Value: c.toggle(func() { c.allEnds = true })},
		{Name: "node-timeout", Usage: "silence after which a host counts as lost (15; 0: never)",
			Value: &value{c, "D", limit(&job.Limits.Node, "30")}},
		{Name: "stack-traces", Usage: "print where ranks are before --timeout ends them, and before a QUIT to gorun is passed on to them",
			Value: c.toggle(func() { job.Stacks = true })},
		{Name: "restarts", Aliases: []string{"max-restarts"}, Usage: "start all ranks anew so often after a rank or host failed (0)",
			Value: &value{c, "N", number(&job.Restarts, 0, maxRanks, "of restarts", "3")}},
		{Name: "launcher", Usage: "how agents start: by srun on nodes of the Slurm job that this is in and else by SSH (auto), only so, or on this host only",
			Value: &value{c, "auto|ssh|slurm|local", launcherName(&job.Launcher)}},
		{Name: "rsh", Usage: "log in with this command: 'ssh -x {host}'; also {user} and {port}",
			Value: &value{c, "CMD", word(&job.SSH.Rsh, "a command that logs in to a host", "ssh -x {host}")}},
		{Name: "iface", Usage: "interface, or network, of the job's traffic, found on each host",
			Value: &value{c, "NAME|CIDR", word(&job.Network, "the name of an interface, or a network as 10.7.0.0/16", "eth0")}},
		{Name: "ports", Usage: "where the job listens (any port that is free)",
			Value: &value{c, "A-B", word(&job.Ports, "two port numbers", "40000-40099")}},
		{Name: "master-port", Usage: "MASTER_PORT, which must be free on rank 0's host (one that is)",
			Value: &value{c, "PORT", number(&job.MasterPort, 1, 65535, "as a port", "29500")}},
		{Name: "nccl-comm-id", Usage: "set NCCL_COMM_ID, for programs that hand no id around",
			Value: c.toggle(func() { job.Env.CommID = true })},
		{Name: "p", Usage: "port of the hosts' SSH servers",
			Value: &value{c, "PORT", number(&job.SSH.Port, 1, 65535, "as a port", "2222")}},
		{Name: "i", Usage: "private key to log in with",
			Value: &value{c, "FILE", path(&job.SSH.Key, filepath.Join("~", ".ssh", "id_ed25519"))}},
		{Name: "J", Usage: "reach all hosts through these, one after the other; none: directly",
			Value: &value{c, "HOST,…", word(&job.SSH.Jump, "[user@]host[:port],… or none", "bastion")}},
		{Name: "identity-agent", Usage: "socket of the signing agent, or none",
			Value: &value{c, "SOCKET", path(&job.SSH.Agent, "$SSH_AUTH_SOCK")}},
		{Name: "F", Usage: "ssh_config to follow, or none",
			Value: &value{c, "FILE", path(&job.SSH.Config, filepath.Join("~", ".ssh", "config"))}},
		{Name: "accept-new-host-keys", Usage: "store the keys of hosts that are not known yet",
			Value: c.toggle(func() { job.SSH.AcceptNewHostKeys = true })},
		{Name: "events", Usage: "write everything that happens as lines of JSON, - to standard error",
			Value: &value{c, "F", func(s string) error {
				if s == "-" {
					c.events = s
					return nil
				}
				return path(&c.events, "events.jsonl")(s)
			}}},
		{Name: "report-file", Usage: "write how the job ended as JSON",
			Value: &value{c, "F", path(&c.reportFile, "report.json")}},
		{Name: "progress", Usage: "show how far a slow launch is: on a terminal, always, never",
			Value: &value{c, "auto|on|off", oneOf(&c.progress, "auto", "on", "off")}},
		{Name: "v", Aliases: []string{"verbose"}, Usage: "say what happens",
			Value: c.toggle(func() { c.verbose, c.quiet = true, false })},
		{Name: "q", Aliases: []string{"quiet"}, Usage: "say nothing but errors",
			Value: c.toggle(func() { c.verbose, c.quiet = false, true })},
		{Name: "V", Aliases: []string{"version"}, Usage: "print the version",
			Value: c.toggle(func() { c.version = true })},
		{Name: "h", Aliases: []string{"help"}, Usage: "print this",
			Value: c.toggle(func() { c.help = true })},
	})
	return flags
}
