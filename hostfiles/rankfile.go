package hostfiles

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// Rank is a rank whose host and cores a rankfile fixes.
type Rank struct {
	Rank  int
	Host  string // its name in the list of hosts, the first label of that, or "+n2": the third host
	Cores []Cores
	Pos   Pos
}

// Cores are some cores of a host, counted from 0.
type Cores struct {
	Package     int // of which package, counted from 0; -1: of the whole host
	First, Last int // Last is -1 for all from First on
}

// Limits of what a rankfile can say: as many ranks as a host list has hosts for,
// and the CPUs of the largest machine that Linux knows.
const (
	maxRank = 1 << 20
	maxCore = 8191
)

// ReadRankfile reads the rankfile called name; "-" is the standard input. A file
// that cannot be read gives the [*os.PathError], wrapped.
func ReadRankfile(name string) ([]Rank, error) {
	if name == "-" {
		return ParseRankfile("standard input", os.Stdin)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("rankfile: %w", err)
	}
	defer f.Close()
	return ParseRankfile(name, f)
}

// ParseRankfile reads a rankfile of Open MPI's from r to its end; name is what
// errors call it. A line is
//
//	rank 0=node1 slot=0-3          cores 0 to 3 of the host
//	rank 1=node1 slot=1:0,2;0:*    cores 0 and 2 of its package 1, all of package 0
//	rank 2=+n1                     the second host of the list, not bound
//
// with comments, blanks and ends of lines as in a hostfile. The ranks come in the
// order in which they are written, none of them twice. The error joins a
// [*SyntaxError] for each problem, or wraps r's.
func ParseRankfile(name string, r io.Reader) ([]Rank, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("rankfile: %w", err)
	}
	p := newParser(name)
	var ranks []Rank
	seen := map[int]bool{}
	if p.fits(len(text)) {
		for line := range strings.Lines(strings.TrimPrefix(string(text), "\ufeff")) {
			line = strings.TrimSuffix(line, "\n")
			if rank, ok := p.rankLine(strings.TrimSuffix(line, "\r"), seen); ok {
				ranks = append(ranks, rank)
			}
			if p.full() {
				break
			}
			p.pos.Line++
		}
	}
	if len(ranks) == 0 && len(p.problems) == 0 {
		p.pos.Line = 1
		p.refuse(1, "a rank", "")
	}
	if len(p.problems) > 0 {
		return nil, errors.Join(p.problems...)
	}
	return ranks, nil
}

// rankLine reads one line of a rankfile, and reports whether it has a rank.
func (p *parser) rankLine(text string, seen map[int]bool) (rank Rank, ok bool) {
	l := line{text: text}
	if l.end() {
		return rank, false
	}
	rank.Pos = p.pos
	rank.Pos.Column = l.column()
	refuse := func(column int, want, found string) (Rank, bool) {
		p.refuse(column, want, found)
		return rank, false
	}
	const form = "rank N=HOST slot=CORES"
	if word := l.word(); word != "rank" {
		return refuse(rank.Pos.Column, form, word)
	}
	l.skip()
	column := l.column()
	number := l.until(func(c byte) bool { return blank(c) || c == '=' })
	if rank.Rank, ok = decimal(number, maxRank); !ok {
		return refuse(column, fmt.Sprintf("the number of a rank, to %d", maxRank), number)
	}
	if seen[rank.Rank] {
		return refuse(column, "every rank once", number)
	}
	seen[rank.Rank] = true
	if l.skip(); !l.accept('=') {
		return refuse(l.column(), `"=" and a host behind the rank`, l.word())
	}
	l.skip()
	column = l.column()
	written := l.word()
	if rank.Host, ok = rankHost(written); !ok {
		return refuse(column, "a host, or +n0 for the first of the list", written)
	}
	if l.end() {
		return rank, true
	}
	column = l.column()
	key := l.until(func(c byte) bool { return blank(c) || c == '=' })
	l.skip()
	if !slices.Contains([]string{"slot", "slots"}, key) || !l.accept('=') {
		return refuse(column, "slot=CORES", key)
	}
	l.skip()
	column = l.column()
	written = l.word()
	if rank.Cores, ok = parseCores(written); !ok {
		return refuse(column, "cores, as 0-3,8 or, of package 1, 1:0-3", written)
	}
	if !l.end() {
		return refuse(l.column(), "nothing behind the cores", l.word())
	}
	return rank, true
}

// rankHost reads a host as a rankfile names it.
func rankHost(word string) (string, bool) {
	if relative, ok := strings.CutPrefix(word, "+n"); ok {
		_, ok := decimal(relative, maxHosts-1)
		return word, ok
	}
	if inner, ok := strings.CutPrefix(word, "["); ok {
		if word, ok = strings.CutSuffix(inner, "]"); !ok {
			return "", false
		}
	}
	_, isAddress := address(word)
	return word, isAddress || validName(word)
}

// parseCores reads what stands behind slot=.
func parseCores(text string) ([]Cores, bool) {
	var list []Cores
	for group := range strings.SplitSeq(text, ";") {
		pkg := -1
		if first, rest, ok := strings.Cut(group, ":"); ok {
			if pkg, ok = decimal(first, maxCore); !ok {
				return nil, false
			}
			group = rest
		}
		for span := range strings.SplitSeq(group, ",") {
			if span == "*" {
				list = append(list, Cores{Package: pkg, First: 0, Last: -1})
				continue
			}
			first, last, isSpan := strings.Cut(span, "-")
			if !isSpan {
				last = first
			}
			lo, ok := decimal(first, maxCore)
			hi, ok2 := decimal(last, maxCore)
			if !ok || !ok2 || lo > hi {
				return nil, false
			}
			list = append(list, Cores{Package: pkg, First: lo, Last: hi})
		}
	}
	return list, true
}
