//go:build linux

package agent

import (
	"cmp"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/gorun/gorun/internal/envvar"
	"github.com/gorun/gorun/launcher/wire"
	"github.com/gorun/gorun/rankenv"
)

// loginVars are the host's own, unless the user sets them.
var loginVars = []string{"HOME", "USER", "LOGNAME", "SHELL"}

// hostEnv returns what ranks take from the agent's environment: the login, its
// PATH, and the values that the user's are put before or behind. What a bare
// service manager has left out is looked up.
func hostEnv(environ []string, m *share) map[string]string {
	host := map[string]string{}
	names := append([]string{"PATH"}, loginVars...)
	for _, app := range m.Apps {
		for _, entry := range slices.Concat(app.Prepend, app.Append) {
			names = append(names, envvar.Name(entry))
		}
	}
	for _, name := range names {
		if value := lookupEnv(environ, name); value != "" {
			host[name] = value
		}
	}
	if host["HOME"] == "" || host["USER"] == "" || host["SHELL"] == "" {
		lookUpLogin(host)
	}
	if host["HOME"] == "" {
		host["HOME"] = "/"
	}
	return host
}

// lookUpLogin completes host with what the system knows of the user. The shell
// is in the file of users only: os/user does not tell it.
func lookUpLogin(host map[string]string) {
	u, err := user.Current()
	if err != nil {
		return
	}
	known := map[string]string{"HOME": u.HomeDir, "USER": u.Username, "LOGNAME": u.Username}
	users, _ := os.ReadFile("/etc/passwd")
	for line := range strings.Lines(string(users)) {
		// passwd(5): name:password:UID:GID:GECOS:directory:shell, where no
		// shell is /bin/sh.
		if f := strings.Split(strings.TrimSpace(line), ":"); len(f) == 7 && f[0] == u.Username {
			known["SHELL"] = cmp.Or(f[6], "/bin/sh")
			break
		}
	}
	for name, value := range known {
		if host[name] == "" {
			host[name] = value
		}
	}
}

// composeEnv returns the environment that all ranks of an app on this host
// share: what the launcher sends, then what is this host's, then defaults.
func composeEnv(m *share, app wire.App, host map[string]string, dir string) []string {
	env := slices.Clone(m.Env)
	// What is inherited gives way to what a flag says, but not what is set.
	if m.Hosts[m.Node].Iface != "" {
		env = unsetEnv(unsetEnv(env, ifnameVar), glooVar)
	}
	if m.CommID != "" {
		env = unsetEnv(env, commIDVar)
	}
	for _, entry := range app.Env {
		name, value, _ := strings.Cut(entry, "=")
		env = setEnv(env, name, value)
	}
	// add is for what the user may have set, or wants to be without.
	add := func(name, value string) {
		if value != "" && !hasEnv(env, name) && !envvar.MatchesAny(name, m.Unset) {
			env = append(env, name+"="+value)
		}
	}
	for _, name := range loginVars {
		add(name, host[name])
	}
	add("PATH", joinPath(m.PathEnv, host["PATH"]))
	env = joinValues(env, host, app.Prepend, func(old, value string) string { return value + ":" + old })
	env = joinValues(env, host, app.Append, func(old, value string) string { return old + ":" + value })
	env = setEnv(env, "PWD", dir)
	add("PYTHONUNBUFFERED", "1")
	if iface := m.Hosts[m.Node].Iface; iface != "" {
		add(ifnameVar, "="+iface)
		add(glooVar, iface)
	}
	add(glooVar, m.Via)
	add(commIDVar, m.CommID)
	if m.RASPort != 0 {
		add(rasVar, "localhost:"+strconv.Itoa(m.RASPort))
	}
	if m.Ports.First != 0 {
		env = setEnv(env, "GORUN_PORTS", fmt.Sprintf("%d-%d", m.Ports.First, m.Ports.Last))
	}
	env = placeEnv(env, m)
	return setEnv(env, jobPathVar, jobPath(m))
}

// joinValues joins the values of entries to those that are there, in env or
// else on the host.
func joinValues(env []string, host map[string]string, entries []string, join func(old, value string) string) []string {
	for _, entry := range entries {
		name, value, _ := strings.Cut(entry, "=")
		// Without an old value there is no colon: the empty part of a search
		// path would be the current folder.
		if old := cmp.Or(lookupEnv(env, name), host[name]); old != "" {
			value = join(old, value)
		}
		env = setEnv(env, name, value)
	}
	return env
}

const (
	// ifnameVar names the interfaces of NCCL's own connections. A name behind
	// "=" is meant exactly: without it, bond0 means bond0.20 too.
	ifnameVar = "NCCL_SOCKET_IFNAME"
	// glooVar names the interface of Gloo, which is torch's on CPUs. Without it
	// torch listens where the host's own name leads, which on Debian is
	// 127.0.1.1 (ProcessGroupGloo::createDefaultDevice), and no other host
	// reaches it.
	glooVar = "GLOO_SOCKET_IFNAME"
	// commIDVar is the address at which rank 0 listens for the others, in place
	// of an id that ranks are handed. NCCL serves one communicator by it.
	commIDVar = "NCCL_COMM_ID"
	// rasVar is where NCCL's RAS service is asked about a job.
	rasVar = "NCCL_RAS_ADDR"
)

// jobPath is where this host's ranks stand: the jobs around, then this one.
func jobPath(m *share) string {
	step := m.Job + "/" + m.Hosts[m.Node].Name
	if m.Path == "" {
		return step
	}
	return m.Path + ":" + step
}

// hostWorld returns the place of this host's ranks, but for what differs from
// one to the other.
func hostWorld(m *share, socket string) rankenv.World {
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
func launchers(m *share) []rankenv.Launcher {
	var as []rankenv.Launcher
	for _, name := range m.Compat {
		as = append(as, rankenv.Launcher(name))
	}
	return as
}

// ownEnv returns what a rank gets beside env, which it shares with others: its
// place, and its part of the host.
func (a *agent) ownEnv(env []string, local int) []string {
	w, as := a.world(local), launchers(a.start)
	own := append(w.Environ(as...), "GORUN_SOCKET_FD="+strconv.Itoa(doorFD))
	if slices.Contains(as, rankenv.OpenMPI) {
		// Many programs look for these, whichever MPI they are linked with.
		rank, size := strconv.Itoa(w.LocalRank), strconv.Itoa(w.LocalSize)
		own = append(own, "MV2_COMM_WORLD_LOCAL_RANK="+rank, "MV2_COMM_WORLD_LOCAL_SIZE="+size)
		if !slices.Contains(as, rankenv.PMI) { // which has them
			own = append(own, "MPI_LOCALRANKID="+rank, "MPI_LOCALNRANKS="+size)
		}
	}
	if slices.Contains(as, rankenv.Torch) {
		own = append(own, "TORCHELASTIC_MAX_RESTARTS="+strconv.Itoa(a.start.Restarts))
	}
	if a.start.HNP != "" && slices.Contains(as, rankenv.JAX) {
		own = append(own, "OMPI_MCA_orte_hnp_uri="+a.start.HNP)
	}
	return append(own, a.seatEnv(env, a.seat(local))...)
}

// showEnv answers with what a rank of this host would get. Folders and programs
// need not be there: they are no part of it. Nor is what leads Open MPI to files
// that would be made for it.
func (a *agent) showEnv(m *wire.ShowEnv) (err error) {
	if err := a.settle(&m.Begin); err != nil {
		return err
	}
	if m.Local < 0 || m.Local >= len(a.host().Ranks) {
		return fmt.Errorf("the launcher asked for rank %d of %d", m.Local, len(a.host().Ranks))
	}
	a.hostWorld = hostWorld(a.start, socketIn(filepath.Join(bases()[0], a.folders.token)))
	w := a.world(m.Local)
	app := a.start.Apps[a.appOf()[w.Rank]]
	if app.Templates {
		if app, err = fillApp(app, w); err != nil {
			return err
		}
	}
	host := hostEnv(os.Environ(), a.start)
	dir := app.Dir
	if app.DirHint {
		if dir, err = a.workingFolder(app, host); err != nil {
			return err
		}
	}
	env := composeEnv(a.start, app, host, dir)
	pmi, err := a.showPMI(app, w.Rank, dir, env)
	if err != nil {
		return err
	}
	return a.conn.Send(&wire.Block{Env: slices.Concat(env, a.ownEnv(env, m.Local), pmi)})
}

// doorFD is where a rank finds its door: the first descriptor after the
// standard streams.
const doorFD = 3

// findEnv returns where the entry of name is, -1 if it is not there.
func findEnv(env []string, name string) int {
	return slices.IndexFunc(env, func(entry string) bool {
		return len(entry) > len(name) && entry[len(name)] == '=' && entry[:len(name)] == name
	})
}

func hasEnv(env []string, name string) bool { return findEnv(env, name) >= 0 }

// lookupEnv returns the value of name, "" if it is not there.
func lookupEnv(env []string, name string) string {
	i := findEnv(env, name)
	if i < 0 {
		return ""
	}
	return env[i][len(name)+1:]
}

// setEnv returns env with one entry for name. It may change env.
func setEnv(env []string, name, value string) []string {
	if i := findEnv(env, name); i >= 0 {
		env[i] = name + "=" + value
		return env
	}
	return append(env, name+"="+value)
}

// unsetEnv returns env without the entry for name. It may change env.
func unsetEnv(env []string, name string) []string {
	if i := findEnv(env, name); i >= 0 {
		return slices.Delete(env, i, i+1)
	}
	return env
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
