package launcher

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"time"

	"github.com/gorun/gorun/hostfiles"
	"github.com/gorun/gorun/launcher/placement"
	"github.com/gorun/gorun/launcher/remote"
	"github.com/gorun/gorun/launcher/stdio"
	"github.com/gorun/gorun/rankenv"
)

// prepared is a job that was checked, and what all attempts at it share.
type prepared struct {
	job      *Job
	id       string
	began    time.Time
	deadline time.Time        // by Limits.Run; zero: none
	policy   placement.Policy // Job.Placement, with the ranks of each program
	env      []string
	compat   []rankenv.Launcher // whose variables ranks get
	warnings []string
	tag      stdio.Tag
	means    *means
	roster   *roster
	world    int // the number of ranks, once the first attempt has settled it
	alone    int // that of a job without hosts, once it is known what this one is
	reacher  *reacher
}

// prepare checks the job as far as that goes without its hosts. What it
// returns is never nil.
func prepare(job *Job) (*prepared, error) {
	p := &prepared{job: job, id: newID(), began: timeNow()}
	if job.Limits.Run > 0 {
		p.deadline = timeNow().Add(job.Limits.Run)
	}
	var problems []error
	problem := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	problems = append(problems, checkApps(job.Apps)...)
	if !slices.Contains([]string{"", "auto", "never"}, job.Local) {
		problem("--local: expected auto or never, found %q", job.Local)
	}
	if err := checkLimits(job.Limits); err != nil {
		problems = append(problems, err)
	}
	if job.Continue && job.Restarts > 0 {
		problem("--restarts and --on-failure continue: expected one of them, found both")
	}
	var err error
	p.means, err = newMeans(job)
	p.warnings = p.means.warnings
	entries := p.means.entries
	if err == nil {
		entries, err = job.choose(entries)
	}
	if err != nil {
		problems = append(problems, err)
	}
	problems = append(problems, unusedFields(entries)...)
	problems = append(problems, p.means.check(entries)...)
	if job.Local != "never" {
		entries = mergeLocal(entries)
	}
	if job.Spares < 0 || job.Spares > 0 && job.Spares >= len(entries) {
		problem("--spares: expected fewer than there are hosts, %d, found %d", len(entries), job.Spares)
		return p, &PlanError{problems}
	}
	p.roster = newRoster(entries, job.Spares, p.means.isLocal)
	if err = checkOpenFiles(len(entries) - job.Spares); err != nil {
		problems = append(problems, err)
	}
	if err = p.selectEnv(); err != nil {
		problems = append(problems, err)
	}
	problems = append(problems, checkPrograms(job)...)
	if _, err := parsePorts(job.Ports); err != nil {
		problems = append(problems, err)
	}
	if job.MasterPort < 0 || job.MasterPort > 65535 {
		problem("--master-port: expected a port from 1 to 65535, found %d", job.MasterPort)
	}
	p.policy = job.Placement
	for _, app := range job.Apps {
		if len(job.Apps) > 1 {
			p.policy.Apps = append(p.policy.Apps, app.Ranks)
		}
	}
	if err = p.leaveGPUs(); err != nil {
		problems = append(problems, err)
	}
	if p.tag, err = stdio.ParseTag(job.Streams.Tag); err != nil {
		problems = append(problems, err)
	}
	if len(problems) == 0 {
		if size := p.size(); size > 0 {
			problems = job.Streams.check(size)
		}
	}
	if len(problems) == 0 {
		if err := p.check(p.roster.active); err != nil {
			problems = append(problems, err)
		}
	}
	if len(problems) > 0 {
		return p, &PlanError{problems}
	}
	p.reacher, err = newReacher(p.means, p.id, entries)
	return p, err
}

// checkApps refuses programs that cannot be.
func checkApps(apps []App) []error {
	if len(apps) == 0 {
		return []error{errors.New("no program to run")}
	}
	var problems []error
	for i, app := range apps {
		switch {
		case len(app.Args) == 0 || app.Args[0] == "":
			problems = append(problems, errors.New("no program to run"))
		case len(apps) > 1 && app.Ranks == 0:
			problems = append(problems, fmt.Errorf("%s: expected a number of ranks, since it is program %d of %d", app.Args[0], i+1, len(apps)))
		}
	}
	return problems
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
		merged[first].GPUs, merged[first].SkipGPUs = bothGPUs(merged[first], h)
		merged[first].Turns = slices.Concat(merged[first].Turns, h.Turns)
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

// size is the number of ranks asked for, 0 if the slots decide, or the programs.
func (p *prepared) size() int {
	if p.world > 0 {
		return p.world
	}
	if len(p.policy.Apps) > 0 {
		return 0
	}
	ranks := p.job.Apps[0].Ranks
	if ranks == 0 && p.job.Hosts == nil && p.means.batch.allocation == nil && p.policy.PerHost == 0 && p.policy.MapBy != placement.ByRankfile {
		return p.alone
	}
	return ranks
}

// check says why the ranks cannot be placed on hosts, as far as that is known
// without reaching them.
func (p *prepared) check(indexes []int) error {
	return placement.Check(p.size(), seats(p.roster.hosts(indexes)), p.policy)
}

// lineUp returns the hosts of the next attempt, not reached yet.
func (p *prepared) lineUp() []*host {
	hosts := p.roster.hosts(p.roster.lineUp(func(sound []int) bool {
		return p.limited(p.roster.hosts(sound)) && p.check(sound) == nil
	}))
	// Where declared slots alone decide who gets ranks, there is no need to
	// log in to the others.
	if !p.limited(hosts) {
		return hosts
	}
	plan, err := placement.Place(p.size(), seats(hosts), p.policy)
	if err != nil {
		return hosts
	}
	var seated []*host
	for _, a := range plan.Hosts {
		seated = append(seated, hosts[a.Index])
	}
	return seated
}

// limited says whether it is declared how many ranks each host takes. Others
// take any number, which is no sign that they should.
func (p *prepared) limited(hosts []*host) bool {
	return placement.Foreseeable(seats(hosts), p.policy)
}
