package launcher

import (
	"crypto/rand"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/gorun/gorun/launcher/placement"
	"github.com/gorun/gorun/launcher/wire"
)

// An agent is told of the job in two messages: wire.Start, the same bytes for
// all, which is encoded once, and wire.Begin, which of the hosts it is and what
// its ranks get of it.

// share returns what all agents are told. screen is the size of terminals.
func (l *layout) share(screen wire.Resize) *wire.Start {
	key := make([]byte, 32)
	rand.Read(key)
	m := &wire.Start{
		Job: l.id, Attempt: l.number, Restarts: l.job.Restarts, Path: os.Getenv("GORUN_JOB_PATH"), Key: key,
		Strict: l.job.Strict, Apps: l.apps(), Env: l.env, Unset: l.job.Env.Unset, Rlimits: rlimits(l.job.Rlimits),
		Stdin: l.readers(), PTY: l.job.Streams.PTY, Screen: screen, Merge: l.job.Streams.Merge,
		Timeout: int64(l.job.Limits.node()), Grace: int64(l.job.Limits.grace()),
		Window: hostWindow(len(l.hosts)),
		Master: l.network.master, CommID: l.network.commID, HNP: l.network.hnp, Ports: l.network.ports,
	}
	if l.job.Env.Export != "none" {
		m.PathEnv = os.Getenv("PATH")
	}
	for _, c := range l.compat {
		m.Compat = append(m.Compat, string(c))
	}
	for node, a := range l.plan.Hosts {
		c := l.network.choices[node]
		h := wire.Host{Name: l.hosts[node].name, Addr: c.Addrs[0].String(), Iface: c.Iface}
		for _, s := range a.Seats {
			h.Ranks = append(h.Ranks, s.Rank)
		}
		m.Hosts = append(m.Hosts, h)
	}
	return m
}

// begins returns what one host's agent is told of its own.
func (l *layout) begins(h *host) *wire.Begin {
	a := l.plan.Hosts[h.node]
	return &wire.Begin{Node: h.node, Seats: wireSeats(a.Seats), NICs: a.NICs, Pipes: h.pipes != nil}
}

// apps returns the job's programs as agents are told of them.
func (l *layout) apps() []wire.App {
	apps := make([]wire.App, len(l.job.Apps))
	for i, app := range l.job.Apps {
		a := wire.App{
			Args: app.Args, Env: slices.Concat(l.job.Env.Set, app.Env),
			Prepend: l.job.Env.Prepend, Append: l.job.Env.Append,
			Wrap: l.job.Wrap.Command, Wrapped: l.job.Wrap.Ranks,
			Dir: app.Dir, MakeDir: app.MakeDir, Umask: -1, Templates: l.job.Templates,
		}
		if app.Umask != nil {
			a.Umask = *app.Umask
		}
		if app.Dir == "" {
			a.Dir, _ = os.Getwd() // it may have been removed
			a.DirHint = !l.job.Strict
		} else if dir, err := filepath.Abs(app.Dir); err == nil {
			a.Dir = dir
		}
		if l.job.Stage {
			a.Staged = l.reacher.programs[i]
		}
		apps[i] = a
	}
	for r := range l.plan.Size {
		app := &apps[l.plan.Seat(r).App]
		app.Ranks = append(app.Ranks, r)
	}
	return apps
}

// readers lists the ranks that read standard input. What an earlier attempt has
// taken of it cannot be had again, so later ones get nothing.
func (l *layout) readers() (ranks []int) {
	s := &l.job.Streams
	switch {
	case s.Stdin == nil || l.number > 0:
	case s.StdinTo == AllRanks:
		for r := range l.plan.Size {
			ranks = append(ranks, r)
		}
	default:
		ranks = []int{s.StdinTo}
	}
	return ranks
}

// wireSeats returns what an agent is told of the seats of its ranks.
func wireSeats(seats []placement.Seat) []wire.Seat {
	list := make([]wire.Seat, len(seats))
	for i, s := range seats {
		list[i] = wire.Seat{CPUs: s.CPUs, GPUs: s.GPUs, Visible: s.Visible}
	}
	return list
}

// rlimits returns limits as agents are told of them.
func rlimits(limits map[string]int64) []wire.Rlimit {
	var list []wire.Rlimit
	for _, name := range slices.Sorted(maps.Keys(limits)) {
		list = append(list, wire.Rlimit{Name: name, N: limits[name]})
	}
	return list
}
