//go:build linux

package agent

import (
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/gorun/gorun/launcher/wire"
	"github.com/gorun/gorun/rankenv"
)

// loginVars are the host's own, whatever the launcher's environment says.
var loginVars = []string{"HOME", "USER", "LOGNAME", "SHELL"}

// hostEnv returns what ranks take from the agent's environment: the login and
// its PATH. What a bare service manager has left out is looked up.
func hostEnv(environ []string) map[string]string {
	host := map[string]string{}
	for _, name := range append([]string{"PATH"}, loginVars...) {
		if value := lookupEnv(environ, name); value != "" {
			host[name] = value
		}
	}
	if host["HOME"] == "" || host["USER"] == "" {
		if u, err := user.Current(); err == nil {
			host["HOME"] = u.HomeDir
			host["USER"], host["LOGNAME"] = u.Username, u.Username
		}
	}
	if host["HOME"] == "" {
		host["HOME"] = "/"
	}
	return host
}

// composeEnv returns the environment that a program's ranks on this host share:
// the launcher's selection, the program's own variables, what is this host's,
// then defaults.
func composeEnv(m *wire.Start, own []string, host map[string]string, dir string) []string {
	env := slices.Clone(m.Env)
	for _, entry := range own {
		name, value, _ := strings.Cut(entry, "=")
		env = setEnv(env, name, value)
	}
	for _, name := range loginVars {
		if value := host[name]; value != "" {
			env = setEnv(env, name, value)
		}
	}
	if lookupEnv(env, "PATH") == "" {
		env = setEnv(env, "PATH", joinPath(m.PathEnv, host["PATH"]))
	}
	env = setEnv(env, "PWD", dir)
	if lookupEnv(env, "PYTHONUNBUFFERED") == "" {
		env = append(env, "PYTHONUNBUFFERED=1")
	}
	if local := len(m.Hosts[m.Node].Ranks); local > 0 && lookupEnv(env, "OMP_NUM_THREADS") == "" {
		env = append(env, "OMP_NUM_THREADS="+strconv.Itoa(max(1, runtime.NumCPU()/local)))
	}
	return setEnv(env, jobPathVar, jobPath(m))
}

// jobPath is where this host's ranks stand: the jobs around, then this one.
func jobPath(m *wire.Start) string {
	step := m.Job + "/" + m.Hosts[m.Node].Name
	if m.Path == "" {
		return step
	}
	return m.Path + ":" + step
}

// hostWorld returns the place of this host's ranks, but for what differs from
// one to the other.
func hostWorld(m *wire.Start, socket string) rankenv.World {
	size := 0
	for _, h := range m.Hosts {
		size += len(h.Ranks)
	}
	host := m.Hosts[m.Node]
	return rankenv.World{
		Size: size, LocalSize: len(host.Ranks),
		Node: m.Node, Nodes: len(m.Hosts),
		Host: host.Name, Job: m.Job, Attempt: m.Attempt, Addr: host.Addr,
		Master: m.Master, Socket: socket,
		By: rankenv.Gorun,
	}
}

// launchers returns whose variables ranks get.
func launchers(m *wire.Start) []rankenv.Launcher {
	if len(m.Compat) == 0 {
		return []rankenv.Launcher{rankenv.Gorun, rankenv.Torch, rankenv.OpenMPI}
	}
	as := []rankenv.Launcher{rankenv.Gorun}
	for _, name := range m.Compat {
		as = append(as, rankenv.Launcher(name))
	}
	return as
}

// rankEnv returns what tells a rank its place.
func rankEnv(w rankenv.World, as []rankenv.Launcher) []string {
	return append(w.Environ(as...),
		"GORUN_SOCKET_FD="+strconv.Itoa(doorFD),
		// Many programs look for these beside their MPI's own.
		"MPI_LOCALRANKID="+strconv.Itoa(w.LocalRank),
		"MPI_LOCALNRANKS="+strconv.Itoa(w.LocalSize))
}

// doorFD is where a rank finds its door: the first descriptor after the
// standard streams.
const doorFD = 3

// lookupEnv returns the value of name, "" if it is not there.
func lookupEnv(env []string, name string) string {
	for _, entry := range env {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

// setEnv returns env with one entry for name. It may change env.
func setEnv(env []string, name, value string) []string {
	env = slices.DeleteFunc(env, func(entry string) bool {
		return strings.HasPrefix(entry, name+"=")
	})
	return append(env, name+"="+value)
}

// joinPath puts the folders of first before those of then, each once.
func joinPath(first, then string) string {
	var folders []string
	for _, f := range append(filepath.SplitList(first), filepath.SplitList(then)...) {
		if !slices.Contains(folders, f) {
			folders = append(folders, f)
		}
	}
	return strings.Join(folders, ":")
}
