// Package hostfiles reads lists of hosts in the dialects that users of mpirun
// have: [ReadFile] and [Parse] a hostfile, [ParseList] what follows -H, and
// [Exclude] takes hosts or single GPUs away again.
//
// # Grammar
//
// A hostfile has one host, or one range of hosts, on a line:
//
//	# Open MPI's way           Hydra's way        all that can be said
//	node1 slots=8              node1:8            lee@gpu[01-16,20].lan slots=8 gpus=0-3,7 rack=r1
//	node2 slots=8 max_slots=9  node2:8            fe80::1%eth0 port=2222 key="/home/lee/my key"
//
// A line begins with [user@]host[:slots]. The host is a name, an IPv4 address,
// or an IPv6 address, bare or in brackets; a number after it is a number of
// slots, never a port, and behind an IPv6 address needs the brackets: [::1]:2
// has two slots, ::1:2 is an address. A bracket in a name is a range of decimal
// numbers; zeros in front of the first one set the width of all. Several
// brackets in a name mean all combinations, the last one running fastest.
//
// Then come attributes, in any order, none of them twice:
//
//	slots=N              ranks that the host takes
//	max_slots=N          ranks that it takes at most; also max-slots
//	user=NAME            ssh's -l; also username, or user@host
//	port=N               of its SSH server
//	key=PATH             ssh's -i
//	jump=HOST            ssh's -J
//	addr=ADDRESS         IP address at which the other hosts reach it; not beside a range
//	gpus=0-3,7           indexes of the GPUs that the job may use; ^2,3: all but these
//	iface=NAME           interface, or CIDR, that carries the job's traffic
//	rack=NAME            where the host stands
//	switch=NAME          what it is plugged into
//
// Blanks around "=" are allowed. A value with a blank, a quotation mark or "="
// in it is written between quotation marks, where \" and \\ stand for the mark
// and the backslash. # and // begin a comment where a word could begin, so
// that a value may contain them. Numbers are decimal: 010 is ten. Lines may end
// in CRLF, the last one in nothing, and the file may begin with a byte order
// mark.
//
// A host list has such hosts, without attributes, between commas:
//
//	node1:2,gpu[01-04]:8,[::1]:2,lee@node5
//
// # Repeated hosts
//
// A host is known by its name, in whatever case, its user and its port together,
// so that two SSH servers on one address are two hosts. A host that is written again adds its slots;
// with nothing beside it, as in PBS's node files, each time adds one (a single
// time leaves the slots undeclared, as ever). Its other attributes may be
// spread over the lines, but must not contradict each other.
//
// # Errors
//
// Every problem is a [*SyntaxError], which tells its place, what was expected
// there and what was found; the returned error joins them, and no hosts are
// returned beside it. Input that has no host, is longer than 16 MiB, or stands
// for more than 65,536 hosts is refused. Reading stops after 100 problems.
//
// Nothing here touches the network or looks a name up, and only [ReadFile]
// touches a file.
package hostfiles

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// Limits of what is read. They are ours: a full machine of 65,536 hosts with
// 256 bytes for each is 16 MiB, and nobody reads a hundredth error.
const (
	maxBytes    = 16 << 20
	maxHosts    = 65_536
	maxProblems = 100
)

// ReadFile reads the hostfile called name; "-" is the standard input. A file
// that cannot be read gives the [*os.PathError], wrapped.
func ReadFile(name string) ([]Host, error) {
	if name == "-" {
		return Parse("standard input", os.Stdin)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("hostfile: %w", err)
	}
	defer f.Close()
	return Parse(name, f)
}

// Parse reads a hostfile from r to its end; name is what errors call it. The
// hosts come in the order in which they were first written. The error joins a
// [*SyntaxError] for each problem, or wraps r's.
func Parse(name string, r io.Reader) ([]Host, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("hostfile: %w", err)
	}
	p := newParser(name)
	if p.fits(len(text)) {
		for line := range strings.Lines(strings.TrimPrefix(string(text), "\ufeff")) {
			line = strings.TrimSuffix(line, "\n")
			p.hostLine(strings.TrimSuffix(line, "\r"))
			if p.full() {
				break
			}
			p.pos.Line++
		}
	}
	return p.result()
}

// ParseList reads a list of hosts as -H takes it: "a:2,b[01-04]:8,[::1]:2,user@c".
// The error joins a [*SyntaxError] for each problem; its file is "host list",
// its line 1.
func ParseList(list string) ([]Host, error) {
	p := newParser("host list")
	if p.fits(len(list)) && list != "" {
		for item := range items(list) {
			p.listItem(item)
			if p.full() {
				break
			}
		}
	}
	return p.result()
}

// parser collects the hosts and the problems of one hostfile or list.
type parser struct {
	pos      Pos // the line being read; Column is set in errors only
	hosts    []Host
	known    map[identity]*mentions
	turns    int // how often a host was written
	ranged   int // hosts that ranges stood for, repeated ones too
	problems []error
}

func newParser(file string) *parser {
	return &parser{pos: Pos{File: file, Line: 1}, known: map[identity]*mentions{}}
}

// refuse notes that found stands at column, where want was expected.
func (p *parser) refuse(column int, want, found string) {
	if p.full() {
		return
	}
	pos := p.pos
	pos.Column = column
	p.problems = append(p.problems, &SyntaxError{Pos: pos, Want: want, Found: found})
}

// full reports whether there are so many problems that reading should stop.
func (p *parser) full() bool { return len(p.problems) == maxProblems }

// fits refuses input that is longer than maxBytes.
func (p *parser) fits(length int) bool {
	if length > maxBytes {
		p.refuse(1, fmt.Sprintf("at most %d bytes", maxBytes), "more")
		return false
	}
	return true
}

func (p *parser) result() ([]Host, error) {
	if len(p.hosts) == 0 && len(p.problems) == 0 {
		// Silence would mean "this host alone" to the launcher.
		p.pos.Line = 1
		p.refuse(1, "a host", "")
	}
	if p.full() {
		p.problems = append(p.problems, errors.New(p.pos.File+": too many problems; the rest was not read"))
	}
	if len(p.problems) > 0 {
		return nil, errors.Join(p.problems...)
	}
	return p.hosts, nil
}
