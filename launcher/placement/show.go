package placement

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/gorun/gorun/nccl/topo"
)

// column is one of the table's, left out where no seat has anything in it.
type column struct {
	title string
	cell  func(Seat) string
	need  func(Seat) bool // nil: always there
}

var columns = []column{
	{"RANK", func(s Seat) string { return strconv.Itoa(s.Rank) }, nil},
	{"NODE", func(s Seat) string { return strconv.Itoa(s.Node) }, nil},
	{"LOCAL", func(s Seat) string { return strconv.Itoa(s.LocalRank) }, nil},
	{"PROGRAM", func(s Seat) string { return strconv.Itoa(s.App) }, func(s Seat) bool { return s.App > 0 }},
	{"CPUS", func(s Seat) string { return orAny(topo.FormatList(s.CPUs)) }, func(s Seat) bool { return s.CPUs != nil }},
	{"GPUS", func(s Seat) string { return orAny(s.gpuList()) }, func(s Seat) bool { return s.GPUs != nil }},
	{"NICS", func(s Seat) string { return orAny(strings.Join(s.NICs, ",")) }, func(s Seat) bool { return s.NICs != nil }},
	{"HOST", func(s Seat) string { return s.Host }, nil},
}

func orAny(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// gpuList names a seat's GPUs for people: by their indexes, as nvidia-smi does.
func (s Seat) gpuList() string {
	var names []string
	for i, g := range s.gpus {
		name := strconv.Itoa(g.Index)
		if g.Index < 0 {
			name = s.GPUs[i]
		}
		names = append(names, name)
	}
	return strings.Join(names, ",")
}

// Table writes the plan as people read it, a line for each rank. What no rank has,
// a program besides the first, CPUs, GPUs or adapters of its own, is left out.
func (p *Plan) Table(w io.Writer) error {
	_, err := fmt.Fprintf(w, "%s on %s\n", count(p.Size, "rank"), count(len(p.Hosts), "host"))
	if err != nil {
		return err
	}
	seats := p.all()
	shown := slices.DeleteFunc(slices.Clone(columns), func(c column) bool {
		return c.need != nil && !slices.ContainsFunc(seats, c.need)
	})
	// The writer holds all cells back until Flush, whose error is thus the only one.
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(cell func(column) string) {
		var cells []string
		for _, c := range shown {
			cells = append(cells, cell(c))
		}
		fmt.Fprintln(t, strings.Join(cells, "\t"))
	}
	row(func(c column) string { return c.title })
	for _, s := range seats {
		row(func(c column) string { return c.cell(s) })
	}
	return t.Flush()
}

// JSON writes the plan as one line of JSON:
//
//	{"size":2,"hosts":["a"],"ranks":[{"rank":0,"node":0,"local_rank":0,"program":0,
//	"host":"a","cpus":"0-3","gpus":["GPU-…"],"nics":["mlx5_0"]}, …]}
//
// CPUs that a rank is not bound to, and GPUs and adapters that it has no own ones
// of, are left out.
func (p *Plan) JSON(w io.Writer) error {
	type rank struct {
		Rank    int      `json:"rank"`
		Node    int      `json:"node"`
		Local   int      `json:"local_rank"`
		Program int      `json:"program"`
		Host    string   `json:"host"`
		CPUs    string   `json:"cpus,omitempty"`
		GPUs    []string `json:"gpus,omitempty"`
		NICs    []string `json:"nics,omitempty"`
	}
	plan := struct {
		Size  int      `json:"size"`
		Hosts []string `json:"hosts"`
		Ranks []rank   `json:"ranks"`
	}{Size: p.Size}
	for _, a := range p.Hosts {
		plan.Hosts = append(plan.Hosts, a.Host)
	}
	for _, s := range p.all() {
		plan.Ranks = append(plan.Ranks, rank{s.Rank, s.Node, s.LocalRank, s.App, s.Host, topo.FormatList(s.CPUs), s.GPUs, s.NICs})
	}
	return json.NewEncoder(w).Encode(plan)
}

// Bindings writes a line for each rank that tells what it is bound to: "rank 0 on
// node1: CPUs 0-3, GPU 0, NIC mlx5_0". The CPUs are those that the kernel lists for
// the rank's process as Cpus_allowed_list.
func (p *Plan) Bindings() []string {
	lines := make([]string, p.Size)
	for rank, s := range p.all() {
		cpus := "CPUs " + topo.FormatList(s.CPUs)
		if s.CPUs == nil {
			allowed := "not known"
			if a := p.Hosts[s.Node]; a.CPUs != nil {
				allowed = topo.FormatList(a.CPUs)
			}
			cpus = "CPUs " + allowed + " (not bound)"
		}
		line := fmt.Sprintf("rank %d on %s: %s", s.Rank, s.Host, cpus)
		if s.GPUs != nil {
			line += ", GPU " + s.gpuList()
		}
		if s.NICs != nil {
			line += ", NIC " + strings.Join(s.NICs, ",")
		}
		lines[rank] = line
	}
	return lines
}

func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprint(n, " ", what)
}
