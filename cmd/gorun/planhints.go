package main

import (
	"sort"
	"strconv"

	"github.com/gorun/gorun/launcher"
	"github.com/gorun/gorun/launcher/placement"
)

// planHints offers what would seat a job that its hosts have too few slots for:
// sharing slots, more ranks on each host, a smaller job.
func (c *command) planHints(e *launcher.PlanError) (hints []string) {
	if c.job.Exclude != "" || c.job.NoLocal || c.job.Nodes > 0 {
		return nil // what is left of the hosts is the launcher's to know
	}
	hosts := make([]placement.Host, len(c.job.Hosts))
	for i, h := range c.job.Hosts {
		hosts[i] = placement.Host{Name: h.Name, Slots: h.Slots, MaxSlots: h.MaxSlots}
	}
	ranks, policy := 0, c.job.Placement
	for _, app := range c.job.Apps {
		ranks += app.Ranks
	}
	fits := func(ranks int, policy placement.Policy) bool { return placement.Check(ranks, hosts, policy) == nil }
	if len(e.Problems) != 1 || len(hosts) == 0 || fits(ranks, policy) {
		return nil // it is something else
	}
	shared := policy
	shared.Oversubscribe = true
	if fits(ranks, shared) {
		hints = append(hints, "to let ranks share slots: "+commandLine(withFlag(c.argv, "oversubscribe")))
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
