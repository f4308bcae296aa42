package placement

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// FixedRank is a rank of which a rankfile says where it runs.
type FixedRank struct {
	Rank  int
	Host  string      // its name in the list of hosts, the first label of that, or "+n2": the third host
	Cores []CoreRange // those it is bound to; nil: it is not bound
	Where string      // the place in the file, for messages
}

// CoreRange are cores of a host, counted from 0 among those that the job may use.
type CoreRange struct {
	Package     int // of which package, counted from 0 likewise; -1: of all of them
	First, Last int // Last is -1 for all from First on
}

// validateRankfile returns what is wrong with a rankfile for these hosts.
func validateRankfile(size int, hosts []Host, p Policy) []error {
	var problems []error
	problem := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if p.RankBy != "" || p.PerHost != 0 || p.CPUsPerRank != 0 || p.BindTo != "" {
		problem("expected nothing else about ranks, hosts and cores beside a rankfile, which says it all")
	}
	if len(p.Rankfile) == 0 {
		problem("expected a rank in the rankfile, found none")
	}
	seen := make(map[int]string, len(p.Rankfile))
	for _, f := range p.Rankfile {
		if where, twice := seen[f.Rank]; twice {
			problem("%s: expected rank %d once, found it at %s too", f.Where, f.Rank, where)
		}
		seen[f.Rank] = f.Where
		if _, err := hostNamed(f.Host, hosts); err != nil {
			problem("%s: %w", f.Where, err)
		}
	}
	want := len(p.Rankfile)
	if size > 0 {
		want = min(size, maxRanks)
	}
	for rank := range want {
		if _, ok := seen[rank]; !ok {
			problem("expected ranks 0 to %d in the rankfile, found no rank %d", want-1, rank)
			break
		}
	}
	return problems
}

// hostNamed returns the index of the host that a rankfile calls name.
func hostNamed(name string, hosts []Host) (int, error) {
	if relative, ok := strings.CutPrefix(name, "+n"); ok {
		if i, err := strconv.Atoi(relative); err == nil && i >= 0 && i < len(hosts) {
			return i, nil
		}
		return 0, fmt.Errorf("expected one of %s, +n0 to +n%d, found %q", count(len(hosts), "host"), len(hosts)-1, name)
	}
	if i := slices.IndexFunc(hosts, func(h Host) bool { return strings.EqualFold(h.Name, name) }); i >= 0 {
		return i, nil
	}
	found := -1
	for i, h := range hosts {
		label, rest, _ := strings.Cut(h.Name, ".")
		if !strings.EqualFold(label, name) || rest == "" || strings.Trim(label, "0123456789") == "" { // 10.0.0.1 has no short form
			continue
		}
		if found >= 0 {
			return 0, fmt.Errorf("expected a host, found %q, which may be %s or %s", name, hosts[found].Name, h.Name)
		}
		found = i
	}
	if found < 0 {
		return 0, fmt.Errorf("expected one of %s, %s, found %q", count(len(hosts), "host"), named(hosts), name)
	}
	return found, nil
}

// named names the first of some hosts.
func named(hosts []Host) string {
	const shown = 8
	var names []string
	for _, h := range hosts[:min(len(hosts), shown)] {
		names = append(names, h.Name)
	}
	if len(hosts) > shown {
		names = append(names, "…")
	}
	return strings.Join(names, ", ")
}

// fixed returns the hosts of the first size ranks of a rankfile that is valid.
func fixed(size int, hosts []Host, rankfile []FixedRank) []int {
	hostOf := make([]int, size)
	for _, f := range rankfile {
		if f.Rank < size {
			hostOf[f.Rank], _ = hostNamed(f.Host, hosts)
		}
	}
	return hostOf
}

// bindFixed binds the seats of a host as a rankfile says.
func bindFixed(host string, cores []core, seats []*Seat, rankfile []FixedRank) error {
	byRank := make(map[int]FixedRank, len(rankfile))
	for _, f := range rankfile {
		byRank[f.Rank] = f
	}
	for _, s := range seats {
		f := byRank[s.Rank]
		var own []core
		for _, r := range f.Cores {
			found, err := r.of(cores)
			if err != nil {
				return fmt.Errorf("%s: rank %d on %s: %w", f.Where, f.Rank, host, err)
			}
			own = append(own, found...)
		}
		s.CPUs = cpusOf(own)
	}
	return nil
}

// of returns the cores of a range among all that a host has.
func (r CoreRange) of(cores []core) ([]core, error) {
	where := ""
	if r.Package >= 0 {
		packages := domains(cores, func(c core) int { return c.pkg })
		if r.Package >= len(packages) {
			return nil, fmt.Errorf("expected a package from 0 to %d, found %d", len(packages)-1, r.Package)
		}
		cores, where = packages[r.Package], fmt.Sprintf(" of package %d", r.Package)
	}
	last := r.Last
	if last < 0 {
		last = len(cores) - 1
	}
	if r.First >= len(cores) || last >= len(cores) {
		return nil, fmt.Errorf("expected a core from 0 to %d%s, found %d", len(cores)-1, where, max(r.First, last))
	}
	return cores[r.First : last+1], nil
}
