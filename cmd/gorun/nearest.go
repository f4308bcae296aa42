package main

import (
	"cmp"
	"errors"
	"strings"
)

// unknownFlag refuses the flag that word i is, and names the nearest that exists.
func (g grammar) unknownFlag(l line, i int) error {
	word := l.words[i]
	bare := strings.TrimLeft(word, "-")
	name, _, _ := strings.Cut(bare, "=")
	if name == "c" {
		return refusal("-c "+refusalOfC,
			"for the number of ranks: "+l.with(i, 1, "-np"),
			"for CPUs of each rank: "+l.with(i, 1, "--cpus-per-rank"))
	}
	var hints []string
	near := g.nearest(name)
	known, digits := g.digitsBehindName(name)
	switch {
	case known != "":
		hints = []string{"a value is a word of its own: " + l.with(i, 1, "-"+known, digits)}
	case near != "":
		hints = []string{"did you mean: " + l.with(i, 1, spelled(near)+strings.TrimPrefix(bare, name))}
	}
	if l.verb != "" {
		hints = append(hints, "gorun help "+l.verb+" lists the flags")
	} else {
		hints = append(hints, "gorun help lists the flags; those of the program stand behind the program")
	}
	return refusal("unknown flag "+word, hints...)
}

// refusalOfC is why there is no -c.
const refusalOfC = "is refused: it is the number of ranks to Open MPI, and of CPUs for each rank to srun"

// digitsBehindName takes "np4" for the flag np and the value 4.
func (g grammar) digitsBehindName(word string) (name, value string) {
	name = strings.TrimRight(word, "0123456789")
	if f := g.lookup(name); name == word || f == nil || f.arity("") != 1 {
		return "", ""
	}
	return name, word[len(name):]
}

// nearest returns the name of a flag that name is, behind a dash too many, or
// is probably a slip of; "" if none is near.
func (g grammar) nearest(name string) string {
	if g.lookup(name) != nil {
		return name
	}
	var known []string
	for _, f := range g {
		_, err := f.ours(strings.Fields(f.args))
		if _, ok := errors.AsType[*foreignError](err); !ok { // to offer those that are refused is no help
			known = append(known, f.names...)
		}
	}
	return nearest(name, known)
}

// nearest returns the one of the known words that word is probably a slip of, in
// whatever case; "" if none is near.
func nearest(word string, known []string) string {
	// One slip in three letters; more would guess at anything.
	best, bound := "", max(1, len(word)/3)+1
	for _, k := range known {
		if len(k) == 1 {
			continue // one letter is near to every short word
		}
		if d := distance(strings.ToLower(word), strings.ToLower(k)); d < bound {
			best, bound = k, d
		}
	}
	return best
}

// closest is nearest, or the first of the words.
func closest(value string, words []string) string { return cmp.Or(nearest(value, words), words[0]) }

// distance is how many bytes of a are changed, missing, too many, or two that
// stand the wrong way round, from b (optimal string alignment).
func distance(a, b string) int {
	// Distances to every b[:j]: of a[:i-2], a[:i-1] and a[:i].
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, last, row = last, row, before
		row[0] = i + 1
		for j := range len(b) {
			cost := last[j]
			if a[i] != b[j] {
				cost++
			}
			row[j+1] = min(cost, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}
