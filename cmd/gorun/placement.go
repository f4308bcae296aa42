package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"

	"github.com/gorun/gorun/hostfiles"
	"github.com/gorun/gorun/launcher/placement"
)

// placing is what the flags of placement say beside the job's policy.
type placing struct {
	rankfile string // of --map-by rankfile:F; "": none

	displayMap, dryRun, json bool
	reportBindings           bool
}

// mapBy reads the value of --map-by: a mapping and modifiers behind colons. Where
// only modifiers are given, the mapping stays.
func (c *command) mapBy(s string) error {
	refused := func(want string) error { return &valueError{want, "slot"} }
	words := strings.Split(s, ":")
	policy := &c.job.Placement
	switch mapping := words[0]; mapping {
	case "":
		words = words[1:]
	case placement.BySlot, placement.ByNode, placement.ByNUMA, placement.ByGPU, placement.BySequence:
		policy.MapBy, words = mapping, words[1:]
	case "ppr":
		if len(words) < 3 || words[2] != "node" {
			return &valueError{"ppr:N:node, ranks per node", "ppr:8:node"}
		}
		n, err := strconv.Atoi(words[1])
		if err != nil || n < 1 || n > maxRanks {
			return &valueError{"ppr:N:node, ranks per node", "ppr:8:node"}
		}
		policy.MapBy, policy.PerHost, words = placement.BySlot, n, words[3:]
	case placement.ByRankfile:
		if len(words) < 2 || words[1] == "" {
			return &valueError{"rankfile:F, a file with the place of every rank", "rankfile:ranks"}
		}
		file := words[1]
		if key, value, ok := strings.Cut(file, "="); ok && strings.EqualFold(key, "file") {
			file = value // Open MPI's way
		}
		c.rankfile, policy.MapBy, words = file, mapping, words[2:]
	default:
		return refused("slot, node, numa, gpu, seq, ppr:N:node or rankfile:F")
	}
	for _, modifier := range words {
		name, value, _ := strings.Cut(modifier, "=")
		n, err := strconv.Atoi(value)
		switch {
		case strings.EqualFold(modifier, "oversubscribe"):
			policy.Oversubscribe = true
		case strings.EqualFold(name, "pe") && err == nil && n > 0 && n <= maxRanks:
			policy.CPUsPerRank = n
		default:
			return refused(fmt.Sprintf("the modifiers PE=N or OVERSUBSCRIBE behind a mapping, not %q", modifier))
		}
	}
	return nil
}

// bindTo reads the value of --bind-to. Open MPI's other names for the same are
// taken too.
func (c *command) bindTo(s string) error {
	same := map[string]string{"socket": placement.ToPackage, "l3cache": placement.ToL3}
	what, modifiers, modified := strings.Cut(s, ":")
	if modified {
		return &valueError{fmt.Sprintf("a binding without modifiers, not %q", modifiers), what}
	}
	what = cmp.Or(same[what], what)
	return oneOf(&c.job.Placement.BindTo, placement.ToShare, placement.ToNone, placement.ToThread, placement.ToCore,
		placement.ToL3, placement.ToNUMA, placement.ToPackage, placement.ToGPU)(what)
}

// perHost reads the value of -N.
func (c *command) perHost(s string) error {
	if s == "gpu" {
		c.job.Placement.PerHost = placement.OnePerGPU
		return nil
	}
	return number(&c.job.Placement.PerHost, 1, maxRanks, "of ranks, or gpu", "8")(s)
}

// gpusPerRank reads the value of --gpus-per-rank; 0 is none.
func (c *command) gpusPerRank(s string) error {
	if s == "auto" {
		c.job.Placement.GPUsPerRank = 0
		return nil
	}
	err := number(&c.job.Placement.GPUsPerRank, 0, maxRanks, "of GPUs, or auto", "1")(s)
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
