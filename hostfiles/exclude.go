package hostfiles

import (
	"fmt"
	"slices"
	"strings"
)

// Exclude returns hosts without those of list, a host list whose entries may
// have GPUs where others have slots: "a,b[01-04],c:0,2-3" takes away a, the
// four b, and the GPUs 0, 2 and 3 of c. A name without a user stands for every
// host of that name. An empty list excludes nothing; hosts is not changed.
//
// The error joins a [*SyntaxError] for each problem; its file is "exclude
// list". A host that is not there, a GPU that its host was not going to use
// anyway, and a list that leaves no GPU of a host or no host are problems too.
func Exclude(hosts []Host, list string) ([]Host, error) {
	if list == "" {
		return slices.Clone(hosts), nil
	}
	p := newParser("exclude list")
	var exclusions []exclusion
	if p.fits(len(list)) {
		exclusions = p.exclusions(list)
	}

	byName := map[string][]int{} // indexes of left
	left := slices.Clone(hosts)
	for i, h := range left {
		name := canonicalName(h.Name)
		byName[name] = append(byName[name], i)
	}
	gone := make([]bool, len(left))
	for _, x := range exclusions {
		for _, name := range x.names {
			there := false
			for _, i := range byName[canonicalName(name)] {
				if x.user != "" && x.user != left[i].User {
					continue
				}
				there = true
				if !x.tailed {
					gone[i] = true
				} else if !left[i].withoutGPUs(x.gpus) {
					p.refuse(x.tailColumn, fmt.Sprintf("some of the GPUs that %s may use, not all", name), x.tail)
				}
			}
			if !there {
				p.refuse(x.column, fmt.Sprintf("one of the %d hosts", len(hosts)), name)
			}
		}
	}
	p.hosts = make([]Host, 0, len(left))
	for i, h := range left {
		if !gone[i] {
			p.hosts = append(p.hosts, h)
		}
	}
	if len(p.hosts) == 0 && len(p.problems) == 0 {
		p.refuse(1, "a list that leaves a host", list)
	}
	return p.result()
}

// exclusion is one entry of an exclude list.
type exclusion struct {
	spec
	column int
	gpus   []int // if tailed
}

// exclusions reads an exclude list.
func (p *parser) exclusions(list string) []exclusion {
	var all []exclusion
	inGPUs := false // the entry before this one had GPUs, so digits are more of them
	for it := range items(list) {
		if p.full() {
			break
		}
		if inGPUs && it.text != "" && strings.Trim(it.text, "0123456789-") == "" {
			last := &all[len(all)-1]
			last.tail += "," + it.text
			continue
		}
		s, ok := p.spec(it.text, it.column)
		inGPUs = ok && s.tailed
		if ok {
			all = append(all, exclusion{spec: s, column: it.column})
		}
	}
	for i := range all {
		x := &all[i]
		if !x.tailed {
			continue
		}
		var ok bool
		if x.gpus, ok = parseIndexes(x.tail); !ok {
			p.refuse(x.tailColumn, fmt.Sprintf("GPUs, as 0,2-3, with numbers to %d, none twice", maxGPU), x.tail)
			x.names = nil
		}
	}
	return all
}

// withoutGPUs takes gpus from those that h may use. It reports whether it could:
// h must have been going to use each of them, and keep one.
func (h *Host) withoutGPUs(gpus []int) bool {
	if h.GPUs == nil {
		// How many the host has is not known here.
		skip := slices.Clone(h.SkipGPUs)
		for _, g := range gpus {
			if slices.Contains(skip, g) {
				return false
			}
			skip = append(skip, g)
		}
		slices.Sort(skip)
		h.SkipGPUs = skip
		return true
	}
	left := slices.DeleteFunc(slices.Clone(h.GPUs), func(g int) bool { return slices.Contains(gpus, g) })
	if len(left) == 0 || len(left) != len(h.GPUs)-len(gpus) {
		return false
	}
	h.GPUs = left
	return true
}
