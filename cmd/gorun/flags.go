package main

import (
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A flag is one entry of the table of flags: how it is written, what follows
// it, and what it does.
type flag struct {
	// names are what is accepted behind one dash or two. The first speaks for
	// the flag in help.
	names []string
	// args names the words that follow, "N" or "K V"; "" is a switch.
	args string
	// about is the line of help; "" leaves an accepted spelling out of it.
	about string
	// set applies the values, one for each word of args. It is nil for a flag
	// that is reserved but not built yet.
	set func(c *command, values []string) error
	// instead is what to type as long as the flag is not built; "": nothing
	// comes near it.
	instead string
}

// arity is how many words follow the flag.
func (f *flag) arity() int { return len(strings.Fields(f.args)) }

// spelled returns name behind as many dashes as it is usually written with.
func spelled(name string) string {
	if len(name) <= 2 || slices.Contains(oneDash, name) {
		return "-" + name
	}
	return "--" + name
}

// oneDash are the long names that users know behind one dash.
var oneDash = []string{"ppn", "hostfile", "host", "hosts", "wdir", "genv", "env", "genvlist", "envlist", "genvall", "genvnone", "envall", "envnone"}

// flagGroup is one section of the help.
type flagGroup struct {
	title string
	flags []flag
}

// lookup returns the flag that is written name, nil if there is none.
func lookup(name string) *flag {
	for g := range flagGroups {
		for f := range flagGroups[g].flags {
			if slices.Contains(flagGroups[g].flags[f].names, name) {
				return &flagGroups[g].flags[f]
			}
		}
	}
	return nil
}

// flagGroups is the table of all flags. A new flag is one entry here. The
// spellings of Open MPI and Hydra stand beside ours where they mean the same.
var flagGroups = []flagGroup{
	{"Size and hosts", []flag{
		{names: []string{"np", "n"}, args: "N", about: "world size; absent: the sum of the slots, with no hosts one rank",
			set: func(c *command, v []string) (err error) {
				c.job.Apps[0].Ranks, err = number(v[0], 1, maxRanks, "of ranks", "4")
				return err
			}},
		{names: []string{"N", "ppn", "npernode", "nproc-per-node"}, args: "N", about: "ranks on each host (srun's -N means nodes)",
			set: func(c *command, v []string) (err error) {
				if v[0] == "gpu" {
					return &notBuiltError{what: "one rank for each GPU (gpu)", example: "8"}
				}
				c.job.Placement.PerHost, err = number(v[0], 1, maxRanks, "of ranks", "8")
				return err
			}},
		{names: []string{"pernode"},
			set: func(c *command, _ []string) error { c.job.Placement.PerHost = 1; return nil }},
		{names: []string{"hostfile", "f", "machinefile"}, args: "F", about: "file of hosts, - for standard input; else the file GORUN_HOSTFILE",
			set: func(c *command, v []string) (err error) {
				if v[0] == "-" {
					c.hostfile = "-"
					return nil
				}
				c.hostfile, err = path(v[0], "hosts")
				return err
			}},
		{names: []string{"H", "host", "hosts"}, args: "LIST", about: "hosts: a:2,b[01-04]:8,[::1]:2,user@c",
			set: func(c *command, v []string) error {
				if strings.HasPrefix(v[0], "-") || v[0] == "" {
					return &valueError{want: "a list of hosts", example: "a:2,b:2"}
				}
				c.hostList = append(c.hostList, v[0])
				return nil
			}},
		{names: []string{"oversubscribe"}, about: "allow more ranks than declared slots",
			set: func(c *command, _ []string) error { c.job.Placement.Oversubscribe = true; return nil }},
		{names: []string{"local"}, args: "auto|never", about: "how to reach this very host: directly, or by logging in",
			set: func(c *command, v []string) (err error) {
				c.job.Local, err = oneOf(v[0], "auto", "never")
				return err
			}},
		coming("nnodes", "N", ""),
		coming("exclude", "LIST", ""),
		coming("nolocal", "", ""),
		coming("allocation", "auto|none", ""),
		coming("spares", "N", ""),
		coming("preflight", "", ""),
		coming("cpus-per-rank", "N", ""),
	}},
	{"Placement", []flag{
		{names: []string{"map-by"}, args: "slot|node", about: "fill a host before the next, or deal ranks out in turn",
			set: func(c *command, v []string) (err error) {
				c.job.Placement.MapBy, err = mapping(v[0])
				return err
			}},
		{names: []string{"display-map"}, about: "print where the ranks go",
			set: func(c *command, _ []string) error { c.displayMap = true; return nil }},
		{names: []string{"dry-run", "do-not-launch"}, about: "reach the hosts, print where the ranks would go, and start none",
			set: func(c *command, _ []string) error { c.dryRun = true; return nil }},
		coming("rank-by", "slot|node", "--map-by node"),
		coming("bind-to", "WHAT", ""),
		coming("report-bindings", "", ""),
		coming("gpus-per-rank", "N|auto", ""),
		coming("gpu-visible", "all|own", ""),
		coming("json", "", ""),
	}},
	{"Environment, folders, files", []flag{
		{names: []string{"x"}, args: "NAME[=VALUE]", about: "pass a variable on, set it, or pass on all that match: 'NCCL_*'",
			set: func(c *command, v []string) error { return c.passVariable(v[0]) }},
		{names: []string{"genv", "env"}, args: "NAME VALUE",
			set: func(c *command, v []string) error { return c.setVariable(v[0], v[1], "NCCL_DEBUG INFO") }},
		{names: []string{"genvlist", "envlist"}, args: "NAME,…",
			set: func(c *command, v []string) error {
				c.job.Env.Export = "listed"
				for name := range strings.SplitSeq(v[0], ",") {
					if err := c.passVariable(name); err != nil {
						return err
					}
				}
				return nil
			}},
		{names: []string{"genvall", "envall"},
			set: func(c *command, _ []string) error { c.job.Env.Export = "all"; return nil }},
		{names: []string{"genvnone", "envnone"},
			set: func(c *command, _ []string) error { c.job.Env.Export = "none"; return nil }},
		{names: []string{"export"}, args: "all|listed|none", about: "what ranks inherit: all but a login's, only what -x names, nothing",
			set: func(c *command, v []string) (err error) {
				c.job.Env.Export, err = oneOf(v[0], "all", "listed", "none")
				return err
			}},
		{names: []string{"wdir", "wd"}, args: "DIR", about: "working folder of the ranks; it must exist on every host",
			set: func(c *command, v []string) (err error) {
				c.dir, err = path(v[0], "/scratch/run")
				return err
			}},
		{names: []string{"stage", "preload-binary"}, about: "copy the program to the hosts",
			set: func(c *command, _ []string) error { c.job.Stage = true; return nil }},
		{names: []string{"stage-file"}, args: "F", about: "copy this file too, beside the program; may be repeated",
			set: func(c *command, v []string) error {
				file, err := path(v[0], "config.json")
				c.job.Files = append(c.job.Files, file)
				return err
			}},
		coming("env-file", "F", "-x NAME=VALUE"),
		coming("unset-env", "NAME", ""),
		coming("prepend-env", "NAME=VALUE", "-x NAME=VALUE"),
		coming("append-env", "NAME=VALUE", "-x NAME=VALUE"),
		coming("show-env", "RANK", ""),
		coming("env-compat", "LIST", ""),
		coming("mca", "K V", "-x OMPI_MCA_K=V"),
		coming("wdir-create", "", ""),
		coming("umask", "MASK", ""),
		coming("rlimit", "NAME=N", ""),
		coming("wrap", "CMD", ""),
		coming("wrap-ranks", "LIST", ""),
		coming("app", "FILE", ""),
		coming("template", "", ""),
	}},
	{"Streams", []flag{
		{names: []string{"l", "tag-output", "prepend-rank"}, about: `put "host:rank| " before every line`,
			set: func(c *command, _ []string) error { c.job.Streams.Tag = "{host}:{rank}| "; return nil }},
		coming("tag", "FORMAT", "-l"),
		coming("timestamp", "", "-l"),
		coming("raw", "", ""),
		coming("merge-stderr", "", ""),
		coming("output-dir", "DIR", ""),
		coming("output-only", "", ""),
		coming("output", "DIRECTIVES", "-l"),
		coming("show-ranks", "LIST", ""),
		coming("pty", "RANK", ""),
		coming("stdin", "RANK|all|none", ""),
	}},
	{"Control", []flag{
		{names: []string{"timeout"}, args: "D", about: "end the job after this long, with status 124 (90, 1m30s)",
			set: func(c *command, v []string) (err error) {
				c.job.Limits.Run, err = limit(v[0], "1h30m")
				return err
			}},
		{names: []string{"grace"}, args: "D", about: "how long after TERM to send KILL (10)",
			set: func(c *command, v []string) (err error) {
				c.job.Limits.Grace, err = limit(v[0], "30")
				return err
			}},
		{names: []string{"start-timeout"}, args: "D", about: "how long a host has to answer (60; 0: for ever)",
			set: func(c *command, v []string) (err error) {
				c.job.Limits.Start, err = limit(v[0], "2m")
				return err
			}},
		{names: []string{"node-timeout"}, args: "D", about: "silence after which a host counts as lost (15; 0: never)",
			set: func(c *command, v []string) (err error) {
				c.job.Limits.Node, err = limit(v[0], "30")
				return err
			}},
		{names: []string{"p"}, args: "PORT", about: "port of the hosts' SSH servers",
			set: func(c *command, v []string) (err error) {
				c.job.SSH.Port, err = number(v[0], 1, 65535, "as a port", "2222")
				return err
			}},
		{names: []string{"i"}, args: "FILE", about: "private key to log in with",
			set: func(c *command, v []string) (err error) {
				c.job.SSH.Key, err = path(v[0], filepath.Join("~", ".ssh", "id_ed25519"))
				return err
			}},
		{names: []string{"F"}, args: "FILE", about: "ssh_config to follow, or none",
			set: func(c *command, v []string) (err error) {
				c.job.SSH.Config, err = path(v[0], filepath.Join("~", ".ssh", "config"))
				return err
			}},
		{names: []string{"accept-new-host-keys"}, about: "store the keys of hosts that are not known yet",
			set: func(c *command, _ []string) error { c.job.SSH.AcceptNewHostKeys = true; return nil }},
		{names: []string{"v", "verbose"}, about: "say what happens",
			set: func(c *command, _ []string) error { c.verbose, c.quiet = true, false; return nil }},
		{names: []string{"q", "quiet"}, about: "say nothing but errors",
			set: func(c *command, _ []string) error { c.quiet, c.verbose = true, false; return nil }},
		{names: []string{"V", "version"}, about: "print the version",
			set: func(c *command, _ []string) error { c.version = true; return nil }},
		{names: []string{"h", "help"}, about: "print this",
			set: func(c *command, _ []string) error { c.help = true; return nil }},
		{names: []string{"allow-run-as-root"},
			set: func(c *command, _ []string) error { return c.ignore("--allow-run-as-root") }},
		{names: []string{"prefix"}, args: "DIR",
			set: func(c *command, _ []string) error { return c.ignore("--prefix") }},
		coming("signal", "SIG@D", ""),
		coming("init-timeout", "D", ""),
		coming("on-failure", "stop|continue", ""),
		coming("restarts", "N", ""),
		coming("launcher", "ssh|slurm|local", ""),
		coming("rsh", "CMD", ""),
		coming("J", "HOST", ""),
		coming("identity-agent", "SOCKET", ""),
		coming("iface", "NAME|CIDR", ""),
		coming("ports", "A-B", ""),
		coming("master-port", "PORT", ""),
		coming("events", "F", "-v"),
		coming("report-file", "F", ""),
		coming("progress", "auto|on|off", "-v"),
		coming("stack-traces", "", ""),
		coming("strict", "", ""),
		coming("nccl-comm-id", "", ""),
	}},
}

// coming is a flag that is reserved but not built yet.
func coming(name, args, instead string) flag {
	return flag{names: []string{name}, args: args, instead: instead}
}

// maxRanks bounds the world size: far above any job, low enough that a slip
// of the finger is refused before anything is allocated by it.
const maxRanks = 1 << 20

// limit reads one of the time limits. On the command line 0 means that there
// is none, which a [launcher.Limits] writes as a negative value.
func limit(s, example string) (time.Duration, error) {
	d, err := duration(s, example)
	if err == nil && d == 0 {
		d = -1
	}
	return d, err
}
