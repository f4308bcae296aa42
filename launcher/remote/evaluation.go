package remote

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// evaluation is what the files say for one host.
type evaluation struct {
	host, user string // as written; user: known before the files are read, or ""
	local      localUser
	values     map[string][]value
	proxy      string // which of ProxyJump and ProxyCommand came first, and so counts; "": neither

	last      string // in the last reading, what Host lines are about: the name connected to; "": it is the first
	wantsLast bool   // there is a Match final, for which the files are read again
	undecided string // the first condition that only ssh can evaluate and that governs something we read; "": none
	err       error  // what is wrong with the files
}

// value is one occurrence of a keyword.
type value struct {
	args []string
	raw  string
	pos  string
}

// evaluate collects, for a host, every value of the keywords we read, in
// order. Its values do not count if something is undecided.
func evaluate(files [][]directive, host, user string, local localUser) (*evaluation, error) {
	e := &evaluation{host: host, user: user, local: local, values: map[string][]value{}}
	for _, file := range files {
		e.walk(file, true)
	}
	if e.wantsLast {
		e.last = e.hostName()
		if e.first("hostname") == "" { // too late for another
			e.values["hostname"] = []value{{args: []string{strings.ReplaceAll(e.last, "%", "%%")}}}
		}
		for _, file := range files {
			e.walk(file, true)
		}
	}
	if v := e.first("canonicalizehostname"); isYes(v) || strings.EqualFold(v, "always") {
		e.undecided = cmp.Or(e.undecided, e.pos("canonicalizehostname")+": CanonicalizeHostname "+v)
	}
	return e, e.err
}

// walk evaluates a file, or the part of it that a block with an unknown
// condition does not hide.
func (e *evaluation) walk(file []directive, outer bool) {
	active := outer
	var undecided string // why it cannot be said whether the block is active
	for _, d := range file {
		switch {
		case keywords[d.keyword] == unknown:
			e.refuse(d)
		case d.keyword == "host":
			active, undecided = outer && matchPatterns(d.args, cmp.Or(e.last, e.host), false), ""
		case d.keyword == "match":
			active, undecided = false, ""
			if outer {
				active, undecided = e.match(d)
			}
		case undecided != "" && e.undecided == "" && acted(d.keyword):
			e.undecided = undecided
		case !active:
		case d.keyword == "include":
			for _, included := range d.included {
				e.walk(included, true)
			}
		case acted(d.keyword):
			e.add(d)
		}
	}
}

// refuse makes an error of an unknown keyword that nothing has said to ignore.
func (e *evaluation) refuse(d directive) {
	if e.err == nil && !matchPatterns(strings.Split(e.first("ignoreunknown"), ","), d.keyword, true) {
		e.err = fmt.Errorf("%s: expected a keyword of ssh_config, found %q (IgnoreUnknown %s before it has it ignored)", d.pos, d.keyword, d.keyword)
	}
}

// add notes a directive that holds.
func (e *evaluation) add(d directive) {
	e.values[d.keyword] = append(e.values[d.keyword], value{d.args, d.raw, d.pos})
	switch {
	case e.proxy != "":
	case d.keyword == "proxycommand":
		e.proxy = d.keyword
	case d.keyword == "proxyjump" && !strings.EqualFold(e.first("proxyjump"), "none"):
		e.proxy = d.keyword // "none" rules out later jump hosts, but no command
	}
}

// match evaluates a Match line. Undecided says which of its criteria only ssh
// can evaluate, if the others do not rule it out.
func (e *evaluation) match(d directive) (holds bool, undecided string) {
	holds = true
	args := d.args
	for len(args) > 0 {
		criterion, argument, hasArgument := strings.Cut(args[0], "=")
		args = args[1:]
		negated := strings.HasPrefix(criterion, "!")
		criterion = strings.ToLower(strings.TrimPrefix(criterion, "!"))
		var ok bool
		switch criterion {
		case "all":
			ok = true
		case "final":
			e.wantsLast = true
			ok = e.last != ""
		case "canonical": // holds in the last reading, whatever is the reason for that
			ok = e.last != ""
		default:
			if !hasArgument {
				if len(args) == 0 {
					e.err = cmp.Or(e.err, fmt.Errorf("%s: expected a value after Match %s, found none", d.pos, criterion))
					return false, ""
				}
				argument, args = args[0], args[1:]
			}
			patterns := strings.Split(argument, ",")
			switch criterion {
			case "host":
				ok = matchPatterns(patterns, e.hostName(), true)
			case "originalhost":
				ok = matchPatterns(patterns, e.host, true)
			case "user":
				ok = matchPatterns(patterns, e.userName(), false)
			case "localuser":
				ok = matchPatterns(patterns, e.local.name, false)
			default:
				undecided = cmp.Or(undecided, fmt.Sprintf("%s: Match %s", d.pos, criterion))
				continue
			}
		}
		holds = holds && ok != negated
	}
	if !holds {
		return false, ""
	}
	return undecided == "", undecided
}

func (e *evaluation) hostName() string {
	if name := e.first("hostname"); name != "" {
		return strings.NewReplacer("%%", "%", "%h", e.host).Replace(name)
	}
	return e.host
}

func (e *evaluation) userName() string {
	if e.user != "" {
		return e.user
	}
	if name := e.first("user"); name != "" {
		return name
	}
	return e.local.name
}

// first returns the value of a keyword that takes one, or "".
func (e *evaluation) first(keyword string) string {
	if v := e.values[keyword]; len(v) > 0 {
		return v[0].args[0]
	}
	return ""
}

// pos returns where the value of first was written.
func (e *evaluation) pos(keyword string) string {
	if v := e.values[keyword]; len(v) > 0 {
		return v[0].pos
	}
	return ""
}

// raw returns the first value of a keyword as it is written, or "".
func (e *evaluation) raw(keyword string) string {
	if v := e.values[keyword]; len(v) > 0 {
		return v[0].raw
	}
	return ""
}

// list returns the values on the first line of a keyword, or nil.
func (e *evaluation) list(keyword string) []string {
	if v := e.values[keyword]; len(v) > 0 {
		return v[0].args
	}
	return nil
}

// each returns the values of a keyword that may be repeated, each once.
func (e *evaluation) each(keyword string) []string {
	var all []string
	for _, v := range e.values[keyword] {
		if !slices.Contains(all, v.args[0]) {
			all = append(all, v.args[0])
		}
	}
	return all
}

// matchPatterns says whether name matches one of the patterns and none of the
// negated ones. OpenSSH heeds case but where Match is about host names.
func matchPatterns(patterns []string, name string, fold bool) bool {
	matched := false
	for _, p := range patterns {
		negated := strings.HasPrefix(p, "!")
		p = strings.TrimPrefix(p, "!")
		if fold {
			p, name = strings.ToLower(p), strings.ToLower(name)
		}
		if !matchPattern(p, name) {
			continue
		}
		if negated {
			return false
		}
		matched = true
	}
	return matched
}

// matchPattern says whether name matches a pattern in which * stands for any
// bytes and ? for one. It is linear but for the last *, to which it goes back.
func matchPattern(pattern, name string) bool {
	star, retry := -1, 0
	p, n := 0, 0
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, retry = p, n
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == name[n]):
			p++
			n++
		case star >= 0:
			retry++
			p, n = star+1, retry
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}
