package main

import (
	"os"
	"sort"
	"strconv"
	"strings"

	"github.com/gorun/gorun/launcher"
	"github.com/gorun/gorun/launcher/placement"
)

// planHints offers what would do for a job that cannot be placed: a number that
// fits, or the command without the flag that stands in the way.
func (c *command) planHints(e *launcher.PlanError) []string {
	first := e.Problems[0].Error()
	if as, _, found := strings.Cut(first, ": "); found && strings.HasPrefix(as, "-") {
		name := strings.TrimLeft(as, "-")
		switch hosts := max(1, len(c.job.Hosts)); {
		case name == "nnodes" && c.job.Exclude == "" && !c.job.NoLocal && c.job.Nodes > hosts:
			return []string{c.withFlag("nnodes", strconv.Itoa(hosts))}
		case name == "ports":
			return []string{c.withFlag("ports", "40000-40255")}
		case name == "pty":
			return []string{c.withFlag("pty", "0")}
		case name == "stage-file":
			return c.stageHints()
		}
		if without := c.withoutFlag(name); without != "" {
			return []string{"without it: " + without}
		}
		return nil
	}
	if hints := c.slotHints(e); len(hints) > 0 {
		return hints
	}
	policy := c.job.Placement
	if policy.MapBy == placement.ByRankfile {
		return []string{"in the rankfile a host is also named by its place in the list: rank 0=+n0"}
	}
	for _, limit := range []struct {
		flag string
		set  bool
	}{
		{"map-by", policy.MapBy == placement.ByGPU},
		{"N", policy.PerHost == placement.OnePerGPU},
		{"bind-to", policy.BindTo == placement.ToCore || policy.BindTo == placement.ToThread},
		{"cpus-per-rank", policy.CPUsPerRank > 0},
		{"map-by", policy.BindTo == placement.ToCore || policy.BindTo == placement.ToThread || policy.CPUsPerRank > 0},
	} {
		if without := c.withoutFlag(limit.flag); limit.set && without != "" {
			return []string{"without " + spelled(limit.flag) + ": " + without}
		}
	}
	return nil
}

// stageHints tells how several files are named, if one is called like a list.
func (c *command) stageHints() []string {
	for _, file := range c.job.Files {
		names := strings.Split(file, ",")
		if _, err := os.Stat(file); err == nil || len(names) == 1 {
			continue
		}
		words := names[:1]
		for _, name := range names[1:] {
			words = append(words, "--stage-file", name)
		}
		return []string{"each file has a flag of its own: " + c.withFlag("stage-file", words...)}
	}
	return nil
}

// slotHints offers what would seat a job that its hosts have too few slots for:
// sharing slots, more ranks on each host, a smaller job.
func (c *command) slotHints(e *launcher.PlanError) (hints []string) {
	if c.job.Exclude != "" || c.job.NoLocal || c.job.Nodes > 0 {
		return nil // what is left of the hosts is the launcher's to know
	}
	hosts := make([]placement.Host, len(c.job.Hosts))
	for i, h := range c.job.Hosts {
		hosts[i] = placement.Host{Name: h.Name, Slots: h.Slots, MaxSlots: h.MaxSlots}
	}
	if len(hosts) == 0 {
		hosts = []placement.Host{{Name: "localhost"}} // this one
	}
	ranks, policy := 0, c.job.Placement
	for _, app := range c.job.Apps {
		ranks += app.Ranks
	}
	fits := func(ranks int, policy placement.Policy) bool { return placement.Check(ranks, hosts, policy) == nil }
	if len(e.Problems) != 1 || fits(ranks, policy) {
		return nil // it is something else
	}
	shared := policy
	shared.Oversubscribe = true
	if fits(ranks, shared) {
		hints = append(hints, "to let ranks share slots: "+c.withFlag("oversubscribe"))
	} else if perHost := (ranks + len(hosts) - 1) / len(hosts); perHost > policy.PerHost && policy.PerHost > 0 {
		argv := withFlag(c.argv, "N", strconv.Itoa(perHost))
		policy.PerHost, shared.PerHost = perHost, perHost
		switch {
		case fits(ranks, policy):
			hints = append(hints, "more ranks on each host: "+commandLine(argv))
		case fits(ranks, shared):
			hints = append(hints, "more ranks on each host, which share slots: "+commandLine(withFlag(argv, "oversubscribe")))
		}
		policy.PerHost = c.job.Placement.PerHost
	}
	if len(c.job.Apps) > 1 {
		return hints // whose ranks there are too many of is not ours to say
	}
	if most := sort.Search(ranks, func(n int) bool { return !fits(n+1, policy) }); most > 0 {
		hints = append(hints, "as many ranks as there is room for: "+c.programs[0].withFlag("np", strconv.Itoa(most)))
	}
	return hints
}
