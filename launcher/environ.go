package launcher

import (
	"fmt"
	"path"
	"runtime"
	"slices"
	"strings"

	"github.com/gorun/gorun/rankenv"
)

// Patterns of names, as of path.Match.
var (
	// loginNames belong to a login on one host; they would lie on another.
	loginNames = []string{
		"SSH_*", "DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR", "XDG_SESSION_*", "DBUS_*", "HOSTNAME",
		"PWD", "OLDPWD", "SHLVL", "_", "TMPDIR", "LS_COLORS",
		"HOME", "USER", "LOGNAME", "SHELL", "PATH", // the host's; PATH is joined there
	}
	// identityNames tell a process its place in the job of another launcher.
	identityNames = []string{
		"PMI_RANK", "PMI_SIZE", "PMI_FD", "PMI_PORT", "PMI_ID",
		"PMIX_RANK", "PMIX_NAMESPACE", "PMIX_SERVER_URI*",
		"OMPI_COMM_WORLD_*", "PRTE_LAUNCHED", "FLUX_JOB_ID", "FLUX_TASK_*",
		"TORCHELASTIC_*",
		"SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID", "SLURM_NTASKS", "SLURM_STEP*",
	}
	// libraryNames are the settings of gorun's libraries, ordinary variables
	// for which the rule about GORUN_ names makes an exception.
	libraryNames = []string{"GORUN_ENGINE", "GORUN_PROTO", "GORUN_ALGO", "GORUN_DEBUG"}
)

func matchesAny(name string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		ok, err := path.Match(p, name)
		return ok && err == nil
	})
}

// isContract says whether gorun itself decides the value of a variable.
func isContract(name string) bool {
	if strings.HasPrefix(name, "GORUN_") {
		return !slices.Contains(libraryNames, name)
	}
	world := rankenv.World{Size: 1, LocalSize: 1, Nodes: 1, Master: "127.0.0.1:1", Job: "job"}
	return strings.HasPrefix(name, "MPI_LOCAL") || matchesAny(name, identityNames) ||
		slices.ContainsFunc(world.Environ(rankenv.Torch), func(entry string) bool {
			return strings.HasPrefix(entry, name+"=")
		})
}

// checkSet refuses variables that cannot be set.
func checkSet(entries []string) error {
	for _, entry := range entries {
		name, _, ok := strings.Cut(entry, "=")
		if !ok || name == "" {
			return fmt.Errorf("-x: expected NAME=value, found %q", entry)
		}
		if isContract(name) {
			return fmt.Errorf("-x: %s is set by gorun for each rank and cannot be chosen", name)
		}
	}
	return nil
}

// export returns what of the launcher's environment ranks inherit, without
// what their host decides, and warnings about what was named but is not set.
func export(environ []string, e Env) (env, warnings []string, err error) {
	mode := e.Export
	if mode == "" {
		mode = "all"
		if runtime.GOOS != "linux" {
			mode = "listed"
			warnings = append(warnings, "the hosts run another system, so ranks inherit only the variables that -x names")
		}
	}
	if !slices.Contains([]string{"all", "listed", "none"}, mode) {
		return nil, nil, fmt.Errorf("--export: expected all, listed or none, found %q", mode)
	}
	if err := checkSet(e.Set); err != nil {
		return nil, nil, err
	}
	passed := map[string]bool{}
	for _, entry := range environ {
		name, _, ok := strings.Cut(entry, "=")
		if !ok || name == "" || isContract(name) {
			continue
		}
		i := slices.IndexFunc(e.Pass, func(p string) bool { return matchesAny(name, []string{p}) })
		if i >= 0 {
			passed[e.Pass[i]] = true
		}
		if i >= 0 || mode == "all" && !matchesAny(name, loginNames) {
			env = append(env, entry)
		}
	}
	for _, pattern := range e.Pass {
		if _, err := path.Match(pattern, ""); err != nil {
			return nil, nil, fmt.Errorf("-x: malformed pattern %q", pattern)
		}
		if isContract(pattern) {
			return nil, nil, fmt.Errorf("-x: %s is set by gorun for each rank and cannot be passed", pattern)
		}
		if !passed[pattern] && !slices.ContainsFunc(environ, func(entry string) bool {
			name, _, _ := strings.Cut(entry, "=")
			return matchesAny(name, []string{pattern})
		}) {
			warnings = append(warnings, fmt.Sprintf("-x %s: no such variable is set here", pattern))
		}
	}
	for _, entry := range e.Set {
		name, _, _ := strings.Cut(entry, "=")
		env = slices.DeleteFunc(env, func(old string) bool { return strings.HasPrefix(old, name+"=") })
		env = append(env, entry)
	}
	return env, warnings, nil
}
