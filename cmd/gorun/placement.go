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
)

// placing is what the flags of placement say beside the job's policy.
type placing struct {
	rankfile string // of --map-by rankfile:F; "": none
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
		c.mappedTo, c.job.Placement.MapBy, c.job.Placement.PerHost = "", placement.BySlot, n
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
// for each and nothing else is said.
func (c *command) completePlacement() {
	if policy := &c.job.Placement; c.mappedTo != "" && policy.BindTo == "" && !policy.Oversubscribe {
		policy.BindTo = c.mappedTo
	}
	c.mappedTo = ""
}

// bindTo reads the value of --bind-to. Other launchers' names for the same are
// taken too, and "core:2" as in Hydra.
func (c *command) bindTo(s string) error {
	what, modifier, _ := strings.Cut(strings.ToLower(s), ":")
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
	return number(&c.job.Placement.PerHost, 1, maxRanks, "of ranks, or gpu", cmp.Or(nearest(s, []string{"gpu"}), "8"))(s)
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
	switch hint := "a rank is written: rank 0=node1 slot=0-3"; {
	case errors.As(err, new(*fs.PathError)):
		return refusal("--map-by: "+err.Error(), append(pathHints(err), hint)...)
	case err != nil:
		return refusal("--map-by: "+hostProblems(err), hint)
	}
	for _, r := range ranks {
		fixed := placement.FixedRank{Rank: r.Rank, Host: r.Host, Where: r.Pos.String()}
		for _, cores := range r.Cores {
			fixed.Cores = append(fixed.Cores, placement.CoreRange(cores))
		}
		c.job.Placement.Rankfile = append(c.job.Placement.Rankfile, fixed)
	}
	return nil
}

// printPlan writes where the ranks go.
func (c *command) printPlan(plan *placement.Plan, to io.Writer) error {
	if c.json {
		return plan.JSON(to)
	}
	return plan.Table(to)
}
