package launcher

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"time"

	"github.com/gorun/gorun/hostfiles"
	"github.com/gorun/gorun/launcher/placement"
	"github.com/gorun/gorun/launcher/remote"
	"github.com/gorun/gorun/launcher/stdio"
)

// prepare checks the job as far as that goes without its hosts. The launch it
// returns is never nil.
func prepare(job *Job) (*launch, error) {
	l := &launch{job: job, id: newID(), began: time.Now(), mail: newMailbox()}
	if job.Limits.Run > 0 {
		l.deadline = time.Now().Add(job.Limits.Run)
	}
	var problems []error
	problem := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	switch {
	case len(job.Apps) == 0 || len(job.Apps[0].Args) == 0 || job.Apps[0].Args[0] == "":
		problem("no program to run")
	case len(job.Apps) > 1:
		problem("several programs in one job are not built yet")
	}
	if !slices.Contains([]string{"", "auto", "never"}, job.Local) {
		problem("--local: expected auto or never, found %q", job.Local)
	}
	l.entries = job.Hosts
	if job.Hosts == nil {
		l.entries = []hostfiles.Host{thisHost()}
	}
	problems = append(problems, unusedFields(l.entries)...)
	if job.Local != "never" {
		l.entries = mergeLocal(l.entries)
	}
	var err error
	if l.env, l.warnings, err = export(os.Environ(), job.Env); err != nil {
		problems = append(problems, err)
	}
	if l.tag, err = stdio.ParseTag(job.Streams.Tag); err != nil {
		problems = append(problems, err)
	}
	if len(problems) == 0 {
		if err := placement.Check(l.size(), l.seats(nil), job.Placement); err != nil {
			problems = append(problems, err)
		}
	}
	if len(problems) > 0 {
		return l, &PlanError{problems}
	}
	l.keepSeated()
	l.reacher, err = newReacher(job, l.id, l.entries)
	return l, err
}

func newID() string {
	var b [6]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// thisHost is the entry of a job without hosts.
func thisHost() hostfiles.Host {
	name, err := os.Hostname()
	if err != nil {
		name = "localhost"
	}
	return hostfiles.Host{Name: name}
}

// mergeLocal makes one entry of those that mean this host under several names:
// they share its processors, and one agent. Slots are added, as those of a host
// that is repeated; an entry without them adds one, if another has some.
func mergeLocal(entries []hostfiles.Host) []hostfiles.Host {
	var merged []hostfiles.Host
	first, bare := -1, 0
	for _, h := range entries {
		if !remote.IsLocal(h) {
			merged = append(merged, h)
			continue
		}
		if h.Slots == 0 {
			bare++
		}
		if first < 0 {
			first = len(merged)
			merged = append(merged, h)
			continue
		}
		merged[first].Slots += h.Slots
		merged[first].MaxSlots += h.MaxSlots
	}
	if first >= 0 && merged[first].Slots > 0 {
		merged[first].Slots += bare
	}
	return merged
}

// unusedFields refuses what an entry asks for and nothing would act on.
func unusedFields(entries []hostfiles.Host) []error {
	var problems []error
	for _, h := range entries {
		for _, f := range []struct {
			name string
			set  bool
		}{
			{"jump=", h.Jump != ""},
			{"gpus=", h.GPUs != nil},
			{"iface=", h.Iface != ""},
			{"rack=", h.Rack != ""},
			{"switch=", h.Switch != ""},
		} {
			if f.set {
				problems = append(problems, fmt.Errorf("%v: %s of %s is understood but not acted on yet: remove it from the entry", h.Pos, f.name, h.Name))
			}
		}
		if _, err := netip.ParseAddr(h.Addr); h.Addr != "" && err != nil {
			problems = append(problems, fmt.Errorf("%v: addr= of %s: expected an IP address, found %q", h.Pos, h.Name, h.Addr))
		}
	}
	return problems
}

// size is the number of ranks asked for, 0 if the slots decide.
func (l *launch) size() int {
	ranks := l.job.Apps[0].Ranks
	if ranks == 0 && l.job.Hosts == nil && l.job.Placement.PerHost == 0 {
		return 1
	}
	return ranks
}

// seats describes the entries to the planner. hellos are nil before login.
func (l *launch) seats(hosts []*host) []placement.Host {
	var seats []placement.Host
	for i, e := range l.entries {
		seat := placement.Host{Name: e.Name, Slots: e.Slots, MaxSlots: e.MaxSlots}
		if hosts != nil {
			seat.CPUs = hosts[i].hello.CPUs
		}
		seats = append(seats, seat)
	}
	return seats
}

// keepSeated drops entries that no rank will run on, where that is decided by
// declared slots alone: there is no need to log in to them.
func (l *launch) keepSeated() {
	if l.job.Placement.PerHost == 0 && slices.ContainsFunc(l.entries, func(h hostfiles.Host) bool { return h.Slots == 0 }) {
		return
	}
	plan, err := placement.Place(l.size(), l.seats(nil), l.job.Placement)
	if err != nil {
		return
	}
	var seated []hostfiles.Host
	for _, a := range plan.Hosts {
		seated = append(seated, l.entries[a.Index])
	}
	l.entries = seated
}
