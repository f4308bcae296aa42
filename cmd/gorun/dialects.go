package main

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// synonyms are what less common launchers call flags of ours. Open MPI's and
// Hydra's own names are aliases in the table of flags, which the help shows.
var synonyms = map[string][]string{
	"np":            {"ntasks", "num-proc"},
	"N":             {"perhost", "grr", "ntasks-per-node", "tasks-per-node", "num-gpus"},
	"hostfile":      {"default-hostfile"},
	"H":             {"nodelist", "w"},
	"oversubscribe": {"overcommit", "O"},
	"wdir":          {"chdir", "D"},
	"stage":         {"s"},
	"l":             {"label"},
	"timestamp":     {"prefix-output-with-timestamp"},
	"raw":           {"unbuffered", "u"},
	"start-timeout": {"spawn-timeout"},
	"restarts":      {"reset-limit"},
	"p":             {"ssh-port"},
}

// dialects are flags of other launchers that have other words behind them than
// ours, or mean several of ours.
var dialects = []form{
	// Open MPI
	{[]string{"pernode"}, "", always("--N=1")},
	{[]string{"env"}, "NAME [VALUE]", variable("--x=")},
	{[]string{"genv"}, "NAME [VALUE]", variable("--set-env=")},
	{[]string{"mca", "omca"}, "NAME VALUE", mca("--x=OMPI_MCA_")},
	{[]string{"gmca", "gomca"}, "NAME VALUE", mca("--set-env=OMPI_MCA_")},
	{[]string{"pmixmca"}, "NAME VALUE", variable("--x=PMIX_MCA_")},
	{[]string{"gpmixmca"}, "NAME VALUE", variable("--set-env=PMIX_MCA_")},
	{[]string{"prtemca"}, "NAME VALUE", func(values []string) ([]string, error) { return launcherParameter(values[0]) }},
	{[]string{"initial-errhandler"}, "NAME", as("--set-env=OMPI_MCA_mpi_initial_errhandler=")},
	{[]string{"display-comm"}, "", always("--set-env=OMPI_MCA_ompi_display_comm=mpi_init")},
	{[]string{"display-comm-finalize"}, "", always("--set-env=OMPI_MCA_ompi_display_comm=mpi_finalize")},
	{[]string{"bynode", "rr"}, "", always("--map-by=node")},
	{[]string{"byslot"}, "", always("--map-by=slot")},
	{[]string{"bycore"}, "", always("--map-by=core")},
	{[]string{"bysocket"}, "", always("--map-by=package")},
	{[]string{"bind-to-core", "bind-cores-to-rank"}, "", always("--bind-to=core")},
	{[]string{"bind-to-socket"}, "", always("--bind-to=package")},
	{[]string{"rankfile", "rf"}, "F", as("--map-by=rankfile:")},
	{[]string{"ppr"}, "N:node", as("--map-by=ppr:")},
	{[]string{"display-allocation", "display-devel-map", "display-devel-allocation", "display-diffable-map", "print-rank-map"}, "", always("--display-map")},
	{[]string{"display"}, "LIST", display},
	{[]string{"output-directory", "enable-each-rank-log", "log-dir"}, "DIR", as("--output-dir=")},
	{[]string{"path"}, "FOLDERS", as("--prepend-env=PATH=")},
	{[]string{"preload-files"}, "F", func(values []string) ([]string, error) {
		ours := []string{"--stage"}
		for file := range strings.SplitSeq(values[0], ",") {
			ours = append(ours, "--stage-file="+file)
		}
		return ours, nil
	}},
	{[]string{"continuous", "enable-recovery", "disable-auto-cleanup"}, "", always("--on-failure=continue")},
	{[]string{"disable-recovery"}, "", always("--on-failure=stop")},
	{[]string{"get-stack-traces"}, "", always("--stack-traces")},
	{[]string{"show-progress"}, "", always("--progress=on")},
	{[]string{"debug-daemons", "debug-daemons-file", "debug-devel", "d", "profile"}, "", always("--v")},
	// Hydra and Intel
	{[]string{"prepend-pattern"}, "PATTERN", func(values []string) ([]string, error) {
		tag, err := hydraTag(values[0])
		return []string{"--tag=" + tag}, err
	}},
	{[]string{"output"}, "DIRECTIVES", outputDirectives},
	{[]string{"outfile-pattern", "errfile-pattern"}, "PATTERN", func([]string) ([]string, error) {
		return nil, &valueError{"--output-dir DIR and --output-only instead, which write a file for each rank and stream", "--output-dir out --output-only"}
	}},
	{[]string{"genvlist", "envlist"}, "NAME,…", func(values []string) ([]string, error) {
		return append([]string{"--export=listed"}, each("--x=", values[0])...), nil
	}},
	{[]string{"genvexcl", "envexcl"}, "NAME,…", func(values []string) ([]string, error) {
		return each("--unset-env=", values[0]), nil
	}},
	{[]string{"genvall", "envall"}, "", always("--export=all")},
	{[]string{"genvnone", "envnone"}, "", always("--export=none")},
	{[]string{"rmk"}, "NAME", func(values []string) ([]string, error) {
		if values[0] == "user" {
			return []string{"--allocation=none"}, nil
		}
		return []string{note + "gorun sees which scheduler it runs in"}, nil
	}},
	{[]string{"bootstrap"}, "NAME", as("--launcher=")},
	{[]string{"launcher-exec", "bootstrap-exec"}, "CMD", around("--rsh=", " {host}")},
	{[]string{"skip-launch-node"}, "", always("--nolocal")},
	{[]string{"gpus-per-proc", "gpus-per-task"}, "N", as("--gpus-per-rank=")},
	{[]string{"info"}, "", always("--version")},
	// Slurm
	{[]string{"cpu-bind"}, "HOW", cpuBind},
	{[]string{"distribution", "m"}, "block|cyclic", distribution},
	{[]string{"mpi"}, "TYPE", mpiType},
	{[]string{"kill-on-bad-exit", "K"}, "[0|1]", func(values []string) ([]string, error) {
		if len(values) == 1 && values[0] == "0" {
			return []string{"--on-failure=continue"}, nil
		}
		return []string{"--on-failure=stop"}, nil
	}},
	{[]string{"bcast"}, "[DEST]", always("--stage")},
	// torchrun
	{[]string{"module"}, "NAME", func(values []string) ([]string, error) {
		return nil, &valueError{"a program, which is named first", python + "-m " + values[0]}
	}},
	// others
	{[]string{"nodes", "num-nodes"}, "N", as("--nnodes=")},
	{[]string{"cpus-per-proc", "cpus-per-task"}, "N", as("--cpus-per-rank=")},
	{[]string{"ssh-identity-file"}, "F", as("--i=")},
	{[]string{"network-interfaces", "network-interface"}, "NAME", as("--iface=")},
	{[]string{"no-ssh"}, "", always("--launcher=local")},
}

// always is what a switch means in our form.
func always(ours string) func([]string) ([]string, error) {
	return func([]string) ([]string, error) { return []string{ours}, nil }
}

// as is what a flag means whose value is ours, behind a beginning.
func as(begin string) func([]string) ([]string, error) { return around(begin, "") }

func around(begin, end string) func([]string) ([]string, error) {
	return func(values []string) ([]string, error) { return []string{begin + values[0] + end}, nil }
}

// each returns a flag of ours for every word of a list.
func each(begin, list string) (ours []string) {
	for word := range strings.SplitSeq(list, ",") {
		ours = append(ours, begin+word)
	}
	return ours
}

// variable is what the name of a variable and its value mean in our form.
func variable(ours string) func([]string) ([]string, error) {
	return func(values []string) ([]string, error) {
		entry := strings.Join(values, "=")
		if name, _, found := strings.Cut(entry, "="); !found || !variableName(name, false) {
			return nil, &valueError{"the name of a variable and its value", "NCCL_DEBUG INFO"}
		}
		return []string{ours + entry}, nil
	}
}

// displays are what Open MPI's --display can name, in our words.
var displays = map[string]string{
	"map": "--display-map", "map-devel": "--display-map", "allocation": "--display-map", "alloc": "--display-map",
	"bind": "--report-bindings", "bindings": "--report-bindings",
}

// display reads Open MPI's list of what to show before the job starts.
func display(values []string) (ours []string, err error) {
	for what := range strings.SplitSeq(strings.ToLower(values[0]), ",") {
		what, _, _ = strings.Cut(what, ":")
		if displays[what] == "" {
			return nil, &valueError{"a list of map, bindings and allocation", cmp.Or(nearest(what, slices.Sorted(maps.Keys(displays))), "map")}
		}
		ours = append(ours, displays[what])
	}
	return ours, nil
}
