package launcher

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"

	"github.com/gorun/gorun/internal/envvar"
	"github.com/gorun/gorun/launcher/wire"
)

// Variables take this way: selected takes from the launcher's environment what
// may leave it, the agent adds what is its host's (agent/env.go), and what
// tells a rank its place comes last (rankenv).

// loginNames belong to a login on one host; they would lie on another. They are
// patterns, as of path.Match.
var loginNames = []string{
	"SSH_*", "DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR", "XDG_SESSION_*", "DBUS_*", "HOSTNAME",
	"PWD", "OLDPWD", "SHLVL", "_", "TMPDIR", "LS_COLORS",
	"SLURMD_NODENAME", "SLURM_LAUNCH_NODE_IPADDR", "SLURM_TOPOLOGY_ADDR*",
	"SLURM_CPUS_ON_NODE", "SLURM_GPUS_ON_NODE", "SLURM_JOB_GPUS",
	"CUDA_VISIBLE_DEVICES",                     // of this host's devices; its agent passes on what is set there
	"MPIR_CVAR_CH3_INTERFACE_HOSTNAME",         // this host, to ranks of an outer Hydra
	"HOME", "USER", "LOGNAME", "SHELL", "PATH", // the host's; PATH is joined there
}

// clientNames lead a program to another launcher's client of PMI, in place of its
// own, which knows gorun's server.
var clientNames = []string{"I_MPI_PMI_LIBRARY", "PMI_LIBRARY"}

// outerNames are what gorun sets for a rank where the user has not. In a job
// that a rank starts they would be the outer job's.
var outerNames = []string{
	"NCCL_RAS_ADDR", "NCCL_COMM_ID", "GLOO_SOCKET_IFNAME",
	"OMPI_MCA_orte_tmpdir_base", "OMPI_MCA_btl_vader_backing_directory", "OMPI_MCA_btl_tcp_if_include",
}

// selectEnv makes the part of ranks' environment that is the same on all hosts.
func (p *prepared) selectEnv() error {
	as, err := p.job.Env.compat()
	if err != nil {
		return err
	}
	reserved := newContract(as)
	problems := []error{p.job.Env.validate(reserved)}
	for _, app := range p.job.Apps {
		for _, entry := range app.Env {
			if err := checkEntry(entry, reserved); err != nil {
				problems = append(problems, fmt.Errorf("-x: %w", err))
			}
		}
	}
	if err := errors.Join(problems...); err != nil {
		return err
	}
	p.compat = as
	env, warnings := p.job.Env.selected(os.Environ(), reserved)
	p.env = env
	p.warnings = append(p.warnings, warnings...)
	return nil
}

// Environ reaches hosts and places, as [Run] does, and returns the environment
// that a rank would get, as "NAME=value". No rank is started, but what differs
// from run to run, as the job's id and its ports, will be others. Its errors are
// Run's.
func Environ(ctx context.Context, job *Job, rank int) ([]string, error) {
	p, err := prepare(job)
	if err != nil {
		return nil, err
	}
	defer p.reacher.close()
	l, err := (&attempt{prepared: p}).layOut(ctx)
	if err != nil {
		return nil, err
	}
	defer closeAll(l.hosts)
	if rank < 0 || rank >= l.plan.Size {
		return nil, &PlanError{[]error{fmt.Errorf("--show-env: expected a rank from 0 to %d, found %d", l.plan.Size-1, rank)}}
	}
	seat := l.plan.Seat(rank)
	h := l.hosts[seat.Node]
	if err := h.conn.Send(l.share(usualScreen)); err != nil {
		return nil, &HostError{Host: h.name, Step: "agent", Err: streamError(h, err)}
	}
	block, err := ask[*wire.Block](ctx, h, &wire.ShowEnv{Begin: *l.begins(h), Local: seat.LocalRank})
	if err != nil {
		return nil, err
	}
	return block.Env, nil
}

// validate returns what is wrong with e, whatever the launcher's environment.
func (e *Env) validate(reserved contract) error {
	var problems []error
	problem := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if !slices.Contains([]string{"", "all", "listed", "none"}, e.Export) {
		problem("--export: expected all, listed or none, found %q", e.Export)
	}
	for _, list := range []struct {
		flag    string
		entries []string
	}{{"-x", e.Set}, {"--prepend-env", e.Prepend}, {"--append-env", e.Append}} {
		for _, entry := range list.entries {
			if err := checkEntry(entry, reserved); err != nil {
				problem("%s: %w", cmp.Or(e.Origin[entry], list.flag), err)
			}
		}
	}
	for _, list := range []struct {
		flag, done string
		patterns   []string
	}{{"-x", "passed", e.Pass}, {"--unset-env", "left out", e.Unset}} {
		for _, pattern := range list.patterns {
			if _, err := path.Match(pattern, ""); err != nil {
				problem("%s: malformed pattern %q", list.flag, pattern)
			} else if reserved.has(pattern) {
				problem("%s: %s is set by gorun for each rank and cannot be %s", list.flag, pattern, list.done)
			}
		}
	}
	return errors.Join(problems...)
}

// checkEntry refuses what is no variable, or none of the user's.
func checkEntry(entry string, reserved contract) error {
	name, _, ok := strings.Cut(entry, "=")
	switch {
	case !ok || name == "" || strings.ContainsRune(entry, 0):
		return fmt.Errorf("expected NAME=value, found %q", entry)
	case reserved.has(name):
		return fmt.Errorf("%s is set by gorun for each rank and cannot be chosen", name)
	}
	return nil
}

// selected returns what of the launcher's environment ranks inherit, without
// what their host decides, and warnings about what was named but is not set. e
// is valid.
func (e *Env) selected(environ []string, reserved contract) (env, warnings []string) {
	mode := e.Export
	if mode == "" {
		mode = "all"
		if runtime.GOOS != "linux" {
			mode = "listed"
			warnings = append(warnings, "the hosts run another system, so ranks inherit only the variables that -x names")
		}
	}
	withheld := slices.Concat(loginNames, clientNames)
	if slices.ContainsFunc(environ, func(entry string) bool { return envvar.Name(entry) == "GORUN_JOB" }) {
		withheld = append(withheld, outerNames...)
	}
	found := make([]bool, len(e.Pass))
	for _, entry := range environ {
		name := envvar.Name(entry)
		if name == "" || name == entry {
			continue
		}
		pass := false
		for i, pattern := range e.Pass {
			if envvar.Matches(pattern, name) {
				pass, found[i] = true, true
			}
		}
		if !pass && (mode != "all" || envvar.MatchesAny(name, withheld)) {
			continue
		}
		if !reserved.has(name) && !envvar.MatchesAny(name, e.Unset) {
			env = append(env, entry)
		}
	}
	for i, pattern := range e.Pass {
		if !found[i] {
			warnings = append(warnings, fmt.Sprintf("-x %s: no such variable is set here", pattern))
		}
	}
	return env, warnings
}
