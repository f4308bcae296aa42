package launcher

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
)

// Table writes how every rank ended, as people read it: a line for all that
// ended alike, in the order of their lowest ranks.
func (r *Result) Table(w io.Writer) error {
	type group struct {
		ranks []int
		hosts []string
	}
	groups, ends := map[string]*group{}, []string{}
	for _, e := range r.Ranks {
		end := e.end()
		switch {
		case r.First != nil && e.Rank == r.First.Rank:
			end += ", the first failure"
		case e.Stopped:
			end += ", stopped by gorun"
		}
		g := groups[end]
		if g == nil {
			g = &group{}
			groups[end] = g
			ends = append(ends, end)
		}
		g.ranks = append(g.ranks, e.Rank)
		if !slices.Contains(g.hosts, e.Host) {
			g.hosts = append(g.hosts, e.Host)
		}
	}
	slices.SortStableFunc(ends, func(a, b string) int { return cmp.Compare(groups[a].ranks[0], groups[b].ranks[0]) })
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "RANKS\tHOST\tEND")
	for _, end := range ends {
		g := groups[end]
		host := g.hosts[0]
		if len(g.hosts) > 1 {
			host = fmt.Sprintf("%d hosts", len(g.hosts))
		}
		fmt.Fprintf(t, "%s\t%s\t%s\n", rankRanges(g.ranks), host, end)
	}
	return t.Flush()
}
