package hostfiles

import (
	"iter"
	"strings"
)

// entry is one host, or one range of hosts, as it is written once.
type entry struct {
	Host                   // what all of them have; its Name is not set
	names   []string       // at least one
	columns map[string]int // where each attribute was written, by its name
}

// listItem reads one host of a host list.
func (p *parser) listItem(it item) {
	if e, ok := p.entry(it.text, it.column); ok {
		p.add(e)
	}
}

// entry reads [user@]host[:slots] at column, and reports whether it could.
func (p *parser) entry(spec string, column int) (entry, bool) {
	e := entry{columns: map[string]int{}}
	e.Pos = p.pos
	e.Pos.Column = column
	s, ok := p.spec(spec, column)
	if !ok {
		return e, false
	}
	e.User, e.names = s.user, s.names
	if s.user != "" {
		e.columns["user"] = column
	}
	if !s.tailed {
		return e, true
	}
	e.columns["slots"] = s.tailColumn
	if e.Slots, ok = decimal(s.tail, maxSlots); !ok || e.Slots == 0 {
		p.refuse(s.tailColumn, "a number of slots after \":\" (an IPv6 address before it needs brackets)", s.tail)
		return e, false
	}
	return e, true
}

// spec is [user@]host[:tail], taken apart. The tail is for the caller to read:
// slots, or GPUs.
type spec struct {
	user       string
	names      []string
	tail       string
	tailed     bool // there was a ":"
	tailColumn int
}

// spec takes text apart and expands its ranges.
func (p *parser) spec(text string, column int) (spec, bool) {
	var s spec
	host := text
	// As in ssh, the last @ counts: a user may have one in the name.
	if at := strings.LastIndexByte(text, '@'); at >= 0 {
		s.user, host = text[:at], text[at+1:]
		if s.user == "" || !validUser(s.user) {
			p.refuse(column, "the name of a user before \"@\"", s.user)
			return s, false
		}
		column += at + 1
	}

	name := host
	literal := strings.HasPrefix(host, "[") && strings.Contains(beforeBracket(host), ":")
	switch {
	case literal:
		end := strings.IndexByte(host, ']')
		if end < 0 {
			p.refuse(column, "\"]\" after an IPv6 address", host)
			return s, false
		}
		name = host[1:end]
		if rest := host[end+1:]; rest != "" {
			if rest[0] != ':' {
				p.refuse(column+end+1, "\":\" or nothing after an IPv6 address in brackets", rest)
				return s, false
			}
			s.tail, s.tailed, s.tailColumn = rest[1:], true, column+end+2
		}
	case strings.Count(host, ":") > 1:
		literal = true
	default:
		if i := strings.IndexByte(host, ':'); i >= 0 {
			name = host[:i]
			s.tail, s.tailed, s.tailColumn = host[i+1:], true, column+i+1
		}
	}

	if !literal {
		var ok bool
		s.names, ok = p.expand(name, column)
		return s, ok
	}
	if _, ok := address(name); !ok {
		p.refuse(column, "an IPv6 address", name)
		return s, false
	}
	s.names = []string{name}
	return s, true
}

// beforeBracket returns s up to its first "]".
func beforeBracket(s string) string {
	before, _, _ := strings.Cut(s, "]")
	return before
}

// item is what stands between two commas of a list, and where it begins.
type item struct {
	text   string
	column int
}

// items yields what stands between the commas of a list, without the blanks
// around it. A comma in brackets separates nothing.
func items(list string) iter.Seq[item] {
	return func(yield func(item) bool) {
		start, inside := 0, false
		for i := 0; i <= len(list); i++ {
			if i < len(list) {
				switch list[i] {
				case '[':
					inside = true
				case ']':
					inside = false
				}
				if list[i] != ',' || inside {
					continue
				}
			}
			for start < i && blank(list[start]) {
				start++
			}
			if !yield(item{strings.TrimRight(list[start:i], " \t"), start + 1}) {
				return
			}
			start = i + 1
		}
	}
}
