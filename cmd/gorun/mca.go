package main

import (
	"slices"
	"strings"
)

// Open MPI's parameters, "--mca NAME VALUE", are those of its library, which a
// program that is linked with it reads from variables, and those of its
// launcher, which is not there.

// launcherFrameworks are the parts of Open MPI's launcher, of which a
// parameter's name is the beginning.
var launcherFrameworks = []string{
	"plm", "rmaps", "odls", "ess", "oob", "iof", "ras", "routed", "grpcomm", "rml",
	"filem", "state", "errmgr", "schizo", "regx", "orte", "prte", "dfs", "rtc",
}

// launcherParameters are those that users set most, and what is their like
// here.
var launcherParameters = map[string]string{
	"plm_rsh_agent":                "--rsh 'CMD {host}'",
	"plm_ssh_agent":                "--rsh 'CMD {host}'",
	"plm_rsh_args":                 "-p PORT, -i KEY or -F CONFIG",
	"plm_ssh_args":                 "-p PORT, -i KEY or -F CONFIG",
	"oob_tcp_if_include":           "--iface NAME",
	"rmaps_base_oversubscribe":     "--oversubscribe",
	"rmaps_base_mapping_policy":    "--map-by NAME",
	"rmaps_base_no_schedule_local": "--nolocal",
	"hwloc_base_binding_policy":    "--bind-to NAME",
	"orte_default_hostfile":        "-hostfile F",
	"prte_default_hostfile":        "-hostfile F",
}

// mca is what a parameter and its value mean: a variable for the library's,
// and a note for the launcher's.
func mca(ours string) func([]string) ([]string, error) {
	return func(values []string) ([]string, error) {
		framework, _, _ := strings.Cut(values[0], "_")
		if slices.Contains(launcherFrameworks, framework) || launcherParameters[values[0]] != "" {
			return launcherParameter(values[0])
		}
		if !variableName(values[0], false) {
			return nil, &valueError{"the name of a parameter and its value", "btl_tcp_if_include eth0"}
		}
		return []string{ours + values[0] + "=" + values[1]}, nil
	}
}

// launcherParameter notes a parameter of Open MPI's launcher.
func launcherParameter(name string) ([]string, error) {
	why := name + " is for Open MPI's launcher"
	if here := launcherParameters[name]; here != "" {
		why += "; here: " + here
	}
	return []string{note + why}, nil
}
