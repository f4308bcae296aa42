package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/gorun/gorun/hostfiles"
	"github.com/gorun/gorun/launcher/placement"
	"github.com/gorun/gorun/launcher/remote"
)

// placing is what the flags of placement say beside the job's policy.
type placing struct {
	rankfile string // of --map-by rankfile:F; "": none
	perNode  int    // of --map-by ppr:N:node; 0: none
	mappedTo string // "core" or "hwthread", of --map-by; "": neither

	displayMap, dryRun, json bool
	reportBindings           bool
}

// Mappings and bindings as they are called here and, with the same meaning,
// elsewhere.
var (
	mappings = []string{
		placement.BySlot, placement.ByNode, placement.ByNUMA, placement.ByPackage, placement.ByL3,
		placement.ByGPU, placement.BySequence, "core", "hwthread",
	}
	bindings = []string{
		placement.ToShare, placement.ToNone, placement.ToThread, placement.ToCore,
		placement.ToL3, placement.ToNUMA, placement.ToPackage, placement.ToGPU,
	}
	sameObject = map[string]string{"socket": placement.ToPackage, "l3cache": placement.ToL3, "machine": placement.ToNone, "board": placement.ToNone}
)

// mapBy reads the value of --map-by: a mapping and modifiers behind colons. Where
// only modifiers are given, the mapping stays.
func (c *command) mapBy(s string) error {
	words := strings.Split(s, ":")
	policy := &c.job.Placement
	if words[0] != "" {
		c.perNode = 0
	}
	mapping := strings.ToLower(words[0])
	if same := sameObject[mapping]; slices.Contains(mappings, same) {
		mapping = same
	}
	switch {
	case mapping == "":
		words = words[1:]
	case mapping == "core" || mapping == "hwthread":
		// One rank for each, in order, is what filling slots and binding do.
		c.mappedTo, policy.MapBy, words = mapping, placement.BySlot, words[1:]
	case slices.Contains(mappings, mapping):
		c.mappedTo, policy.MapBy, words = "", mapping, words[1:]
	case mapping == "ppr":
		if err := c.ranksPerResource(words); err != nil {
			return err
		}
		words = words[3:]
	case mapping == placement.ByRankfile:
		if len(words) < 2 || words[1] == "" {
			return &valueError{"rankfile:F, a file with the place of every rank", "--map-by rankfile:ranks"}
		}
		file := words[1]
		if key, value, ok := strings.Cut(file, "="); ok && strings.EqualFold(key, "file") {
			file = value // Open MPI's way
		}
		c.rankfile, c.mappedTo, policy.MapBy, words = file, "", mapping, words[2:]
	default:
		near := closest(mapping, append(mappings, placement.ByRankfile))
		return &valueError{strings.Join(mappings, ", ") + ", ppr:N:node or rankfile:F", "--map-by " + strings.Replace(near, placement.ByRankfile, "rankfile:ranks", 1)}
	}
	for _, modifier := range words {
		name, value, _ := strings.Cut(modifier, "=")
		n, err := strconv.Atoi(value)
		switch {
		case strings.EqualFold(modifier, "oversubscribe"):
			c.oversubscribe(true)
		case strings.EqualFold(modifier, "nooversubscribe"):
			c.oversubscribe(false)
		case strings.EqualFold(name, "pe") && err == nil && n > 0 && n <= maxRanks:
			policy.CPUsPerRank = n
		default:
			accepted := "--map-by " + cmp.Or(mapping, placement.BySlot)
			if near := nearest(name, []string{"OVERSUBSCRIBE", "NOOVERSUBSCRIBE"}); near != "" {
				accepted += ":" + near
			}
			return &valueError{fmt.Sprintf("the modifiers PE=N, OVERSUBSCRIBE or NOOVERSUBSCRIBE behind a mapping, not %q", modifier), accepted}
		}
	}
	return nil
}

// ranksPerResource reads ppr:N:node, Open MPI's ranks per resource.
func (c *command) ranksPerResource(words []string) error {
	refused := &valueError{"ppr:N:node, ranks per node", "--map-by ppr:8:node"}
	if len(words) < 3 {
		return refused
	}
	n, err := strconv.Atoi(words[1])
	if err != nil || n < 1 || n > maxRanks {
		return refused
	}
	object := strings.ToLower(words[2])
	mapping := cmp.Or(sameObject[object], object)
	switch {
	case object == "node":
		c.mappedTo, c.job.Placement.MapBy, c.perNode = "", placement.BySlot, n
		return nil
	case n == 1 && (object == "core" || object == "hwthread"):
		return &valueError{"ppr:N:node, as a rank for each " + object + " is a mapping by itself", "--map-by " + object}
	case mapping == placement.ByNUMA || mapping == placement.ByPackage || mapping == placement.ByL3:
		return &valueError{fmt.Sprintf("ppr:N:node, since ranks are counted by host and then spread: with two of these on each host, %d ranks", 2*n),
			fmt.Sprintf("--map-by %s -N %d", mapping, 2*n)}
	}
	return refused
}

// oversubscribe allows more ranks than declared slots, or forbids more than
// there are slots at all.
func (c *command) oversubscribe(allowed bool) {
	c.job.Placement.Oversubscribe, c.job.Placement.NoOversubscribe = allowed, !allowed
}

// completePlacement binds ranks to what they are mapped to, where that is one
// for each and nothing else is said, and refuses two numbers of ranks on a host.
func (c *command) completePlacement() error {
	if policy := &c.job.Placement; c.mappedTo != "" && policy.BindTo == "" && !policy.Oversubscribe {
		policy.BindTo = c.mappedTo
	}
	c.mappedTo = ""
	if said := c.job.Placement.PerHost; c.perNode != 0 && said != 0 && said != c.perNode {
		return refusal(fmt.Sprintf("-N and --map-by ppr:%d:node: expected the same number of ranks on each host from both", c.perNode),
			cmp.Or(c.withoutFlag("N"), c.withoutFlag("pernode")))
	}
	c.job.Placement.PerHost = cmp.Or(c.perNode, c.job.Placement.PerHost)
	return nil
}

// bindTo reads the value of --bind-to. Other launchers' names for the same are
// taken too, and "core:2" as in Hydra.
func (c *command) bindTo(s string) error {
	what, modifier, _ := strings.Cut(strings.ToLower(s), ":")
	if what == "board" || what == "machine" {
		c.notes = append(c.notes, fmt.Sprintf("--bind-to %s is --bind-to none: it is all of a host", what))
	}
	what = cmp.Or(sameObject[what], what)
	if err := oneOf(&c.job.Placement.BindTo, bindings...)(what); err != nil {
		return err
	}
	single := what == placement.ToCore || what == placement.ToThread
	n, err := strconv.Atoi(modifier)
	switch {
	case modifier == "" || modifier == "if-supported": // hosts whose CPUs are not known bind nothing
	case single && modifier == "no-overload": // as ever
	case single && err == nil && n > 0 && n <= maxRanks:
		c.job.Placement.CPUsPerRank = n
	case modifier == "overload-allowed":
		return &valueError{"a binding without overload-allowed: share binds nothing where ranks outnumber cores", placement.ToShare}
	default:
		return &valueError{fmt.Sprintf("a binding without modifiers but core:N and hwthread:N, not %q", modifier), what}
	}
	return nil
}

// perHost reads the value of -N.
func (c *command) perHost(s string) error {
	if s == "gpu" {
		c.job.Placement.PerHost = placement.OnePerGPU
		return nil
	}
	if s == "auto" || s == "cpu" {
		return &valueError{"a whole number of ranks, or gpu (without -N a host has a rank for each GPU, or else for each core)", map[string]string{"auto": "gpu", "cpu": "8"}[s]}
	}
	return number(&c.job.Placement.PerHost, 1, maxRanks, "of ranks, or gpu", cmp.Or(nearest(s, []string{"gpu"}), "8"))(s)
}

// nodes reads the value of --nnodes.
func (c *command) nodes(s string) error {
	if _, most, elastic := strings.Cut(s, ":"); elastic {
		example := "2"
		if number(new(int), 1, maxRanks, "", "")(most) == nil {
			example = most
		}
		return &valueError{"a whole number of hosts, as a job has as many while it runs (hosts in reserve: --spares N --restarts N)", example}
	}
	return number(&c.job.Nodes, 1, maxRanks, "of hosts", "2")(s)
}

// gpusPerRank reads the value of --gpus-per-rank; 0 is none.
func (c *command) gpusPerRank(s string) error {
	if s == "auto" {
		c.job.Placement.GPUsPerRank = 0
		return nil
	}
	err := number(&c.job.Placement.GPUsPerRank, 0, maxRanks, "of GPUs, or auto", cmp.Or(nearest(s, []string{"auto"}), "1"))(s)
	if err == nil && c.job.Placement.GPUsPerRank == 0 {
		c.job.Placement.GPUsPerRank = placement.NoGPUs
	}
	return err
}

// excludeHosts adds the value of --exclude.
func (c *command) excludeHosts(s string) error {
	if s == "" || s[0] == '-' {
		return &valueError{"a list of hosts, or of their GPUs", "a,b[01-04],c:0,2-3"}
	}
	if c.job.Exclude != "" {
		s = c.job.Exclude + "," + s
	}
	c.job.Exclude = s
	return nil
}

// readRankfile reads the file of --map-by rankfile:F.
func (c *command) readRankfile() error {
	if c.job.Placement.MapBy != placement.ByRankfile {
		return nil
	}
	ranks, err := hostfiles.ReadRankfile(c.rankfile)
	as := "--map-by"
	for _, s := range c.first.settings {
		if slices.ContainsFunc(s.ours, func(word string) bool { return strings.HasPrefix(word, "--map-by=rankfile:") }) {
			as = s.as
		}
	}
	switch {
	case errors.As(err, new(*fs.PathError)):
		return refusal(as+": "+err.Error(), append(pathHints(err), "what it is: gorun help rankfile")...)
	case err != nil:
		return refusal(as+": "+hostProblems(err), "a rank is written: rank 0=node1 slot=0-3")
	}
	for _, r := range ranks {
		fixed := placement.FixedRank{Rank: r.Rank, Host: c.rankHost(r.Host), Where: r.Pos.String()}
		for _, cores := range r.Cores {
			fixed.Cores = append(fixed.Cores, placement.CoreRange(cores))
		}
		c.job.Placement.Rankfile = append(c.job.Placement.Rankfile, fixed)
	}
	return nil
}

// rankHost returns what the list of hosts calls a rankfile's host, where that is
// this one by another name.
func (c *command) rankHost(name string) string {
	named := func(h hostfiles.Host) bool { return strings.EqualFold(h.Name, name) }
	if !strings.EqualFold(name, "localhost") || slices.ContainsFunc(c.job.Hosts, named) {
		return name
	}
	if len(c.job.Hosts) == 0 {
		return "+n0"
	}
	if here := slices.IndexFunc(c.job.Hosts, remote.IsLocal); here >= 0 {
		return c.job.Hosts[here].Name
	}
	return name
}

// printPlan writes where the ranks go.
func (c *command) printPlan(plan *placement.Plan, to io.Writer) error {
	if c.json {
		return plan.JSON(to)
	}
	return plan.Table(to)
}
