package allocation

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gorun/gorun/hostfiles"
)

// Limits of a job. Hosts are bounded as in host lists; slots are bounded far
// above any host so that sums cannot overflow.
const (
	maxHosts = 65_536
	maxSlots = 1 << 20
)

// tally adds up the slots of hosts that are named in any order.
type tally struct {
	hosts []hostfiles.Host
	index map[string]int
}

// add gives slots more to the host called name, at pos.
func (t *tally) add(name string, slots int, pos hostfiles.Pos) error {
	i, known := t.index[name]
	if !known {
		if err := checkName(name, pos); err != nil {
			return err
		}
		if len(t.hosts) == maxHosts {
			return &hostfiles.SyntaxError{Pos: pos, Want: fmt.Sprintf("at most %d hosts", maxHosts), Found: name}
		}
		if t.index == nil {
			t.index = map[string]int{}
		}
		i = len(t.hosts)
		t.index[name] = i
		t.hosts = append(t.hosts, hostfiles.Host{Name: name, Pos: pos})
	}
	h := &t.hosts[i]
	if h.Slots+slots > maxSlots {
		return &hostfiles.SyntaxError{Pos: pos, Want: fmt.Sprintf("at most %d slots for %s", maxSlots, name), Found: strconv.Itoa(h.Slots + slots)}
	}
	h.Slots += slots
	return nil
}

// checkName refuses what is no name or address of one host.
func checkName(name string, pos hostfiles.Pos) error {
	parsed, err := hostfiles.ParseList(name)
	if err != nil || len(parsed) != 1 || parsed[0].Name != name || strings.ContainsAny(name, "[]@") {
		return &hostfiles.SyntaxError{Pos: pos, Want: "the name of a host", Found: name}
	}
	return nil
}

// result returns the hosts of a text called file, which must have one.
func (t *tally) result(file string) ([]hostfiles.Host, error) {
	if len(t.hosts) == 0 {
		return nil, &hostfiles.SyntaxError{Pos: hostfiles.Pos{File: file, Line: 1, Column: 1}, Want: "a host"}
	}
	return t.hosts, nil
}

// parseSlots reads a number of slots at pos.
func parseSlots(s string, pos hostfiles.Pos) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > maxSlots || s[0] == '+' {
		return 0, &hostfiles.SyntaxError{Pos: pos, Want: fmt.Sprintf("a number of slots from 1 to %d", maxSlots), Found: s}
	}
	return n, nil
}

// word is a word of a text and where it stands.
type word struct {
	text string
	pos  hostfiles.Pos
}

// words returns the words of one line of a text.
func words(line string, pos hostfiles.Pos) []word {
	var all []word
	for at := 0; at < len(line); {
		if strings.IndexByte(" \t\r\n", line[at]) >= 0 {
			at++
			continue
		}
		end := strings.IndexAny(line[at:], " \t\r\n")
		if end < 0 {
			end = len(line) - at
		}
		pos.Column = at + 1
		all = append(all, word{line[at : at+end], pos})
		at += end
	}
	return all
}

// eachLine calls do with the words of every line of a file's text that has
// some, until it fails.
func eachLine(file, text string, do func([]word) error) error {
	pos := hostfiles.Pos{File: file, Line: 0}
	for line := range strings.Lines(text) {
		pos.Line++
		if w := words(line, pos); len(w) > 0 {
			if err := do(w); err != nil {
				return err
			}
		}
	}
	return nil
}

// parseRepeated reads a text that names a host once for each of its slots.
func parseRepeated(file, text string) ([]hostfiles.Host, error) {
	var t tally
	err := eachLine(file, text, func(line []word) error {
		for _, w := range line {
			if err := t.add(w.text, 1, w.pos); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return t.result(file)
}
