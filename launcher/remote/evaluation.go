package remote

import (
	"fmt"
	"slices"
	"strings"
)

// evaluation is what the files say for one host.
type evaluation struct {
	host, user string // as written; user: known before the files are read, or ""
	local      localUser
	values     map[string][]value
	proxy      string // which of ProxyJump and ProxyCommand came first, and so counts; "": none
	err        error  // the first condition that cannot be evaluated and governs something we read
}

// value is one occurrence of a keyword.
type value struct {
	args []string
	raw  string
	pos  string
}

// evaluate collects, for a host, every value of the keywords we read, in
// order.
func evaluate(files [][]directive, host, user string, local localUser) (*evaluation, error) {
	e := &evaluation{host: host, user: user, local: local, values: map[string][]value{}}
	for _, file := range files {
		e.walk(file, true)
	}
	return e, e.err
}

// walk evaluates a file, or the part of it that a block with an unknown
// condition does not hide.
func (e *evaluation) walk(file []directive, outer bool) {
	active := outer
	var unknown error // why it cannot be said whether the block is active
	for _, d := range file {
		switch {
		case d.keyword == "host":
			active, unknown = outer && matchPatterns(d.args, e.host), nil
		case d.keyword == "match":
			active, unknown = false, nil
			if outer {
				active, unknown = e.match(d)
			}
		case unknown != nil && e.err == nil && (d.keyword == "include" || slices.Contains(readKeywords, d.keyword)):
			e.err = unknown
		case !active:
		case d.keyword == "include":
			for _, included := range d.included {
				e.walk(included, true)
			}
		case slices.Contains(readKeywords, d.keyword):
			e.add(d)
		}
	}
}

// add notes a directive that holds.
func (e *evaluation) add(d directive) {
	e.values[d.keyword] = append(e.values[d.keyword], value{d.args, d.raw, d.pos})
	if e.proxy == "" && (d.keyword == "proxyjump" || d.keyword == "proxycommand") {
		e.proxy = d.keyword
	}
}

// match evaluates a Match line. OpenSSH reads the files a second time for
// "final" and "canonical"; we do not rewrite names, so these never hold.
func (e *evaluation) match(d directive) (bool, error) {
	holds := true
	var unknown error
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
		case "canonical", "final":
		default:
			if !hasArgument {
				if len(args) == 0 {
					return false, fmt.Errorf("%s: expected a value after Match %s, found none", d.pos, criterion)
				}
				argument, args = args[0], args[1:]
			}
			patterns := strings.Split(argument, ",")
			switch criterion {
			case "host":
				ok = matchPatterns(patterns, e.hostName())
			case "originalhost":
				ok = matchPatterns(patterns, e.host)
			case "user":
				ok = matchPatterns(patterns, e.userName())
			case "localuser":
				ok = matchPatterns(patterns, e.local.name)
			default:
				if unknown == nil {
					unknown = fmt.Errorf("%s: Match %s is not supported; expected all, final, host, originalhost, user or localuser", d.pos, criterion)
				}
				continue
			}
		}
		holds = holds && ok != negated
	}
	if !holds {
		return false, nil
	}
	return unknown == nil, unknown
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

// each returns the values of a keyword that may be repeated.
func (e *evaluation) each(keyword string) []string {
	var all []string
	for _, v := range e.values[keyword] {
		all = append(all, v.args[0])
	}
	return all
}

// matchPatterns says whether name matches one of the patterns and none of the
// negated ones, without regard to case.
func matchPatterns(patterns []string, name string) bool {
	matched := false
	for _, p := range patterns {
		negated := strings.HasPrefix(p, "!")
		if !matchPattern(strings.ToLower(strings.TrimPrefix(p, "!")), strings.ToLower(name)) {
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
