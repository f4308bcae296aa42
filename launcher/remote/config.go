package remote

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// An ssh_config file is read once into directives and then evaluated for each
// host. The order matters twice: the first value of a keyword wins, and a Host
// or Match line governs what follows it, to the end of the file; an Include
// stands for the files it names, under the condition of the block it is in
// (ssh_config(5)).

// directive is one line of a configuration file. keyword is in lower case.
type directive struct {
	keyword  string
	args     []string
	pos      string        // "file:line"
	included [][]directive // of an include, by file
}

const (
	maxIncludeDepth = 16      // OpenSSH's READCONF_MAX_DEPTH
	maxConfigSize   = 1 << 20 // bytes of one file; the largest in use have some ten thousand lines
)

// readConfigFiles reads the file that -F names, or the user's and the
// system's, which need not exist.
func readConfigFiles(flag string, u localUser) ([][]directive, error) {
	switch {
	case strings.EqualFold(flag, "none"):
		return nil, nil
	case flag != "":
		file, err := readConfig(flag, u, 0)
		if err != nil {
			return nil, fmt.Errorf("ssh configuration (-F): %w", err)
		}
		return [][]directive{file}, nil
	}
	var files [][]directive
	for _, name := range []string{filepath.Join(u.home, ".ssh", "config"), "/etc/ssh/ssh_config"} {
		file, err := readConfig(name, u, 0)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("ssh configuration: %w", err)
		}
		files = append(files, file)
	}
	return files, nil
}

func readConfig(name string, u localUser, depth int) ([]directive, error) {
	if depth > maxIncludeDepth {
		return nil, fmt.Errorf("%s: Include is nested more than %d deep", name, maxIncludeDepth)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxConfigSize+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxConfigSize {
		return nil, fmt.Errorf("%s: more than %d bytes", name, maxConfigSize)
	}
	if depth == 0 && looksLikeHosts(text) {
		return nil, fmt.Errorf("%s looks like a list of hosts; did you mean -hostfile?", name)
	}
	directives, err := parseConfig(name, text)
	if err != nil {
		return nil, err
	}
	for i := range directives {
		d := &directives[i]
		if d.keyword != "include" {
			continue
		}
		for _, pattern := range d.args {
			matches, err := filepath.Glob(u.includePath(pattern, name))
			if err != nil {
				return nil, fmt.Errorf("%s: Include %s: %w", d.pos, pattern, err)
			}
			for _, match := range matches {
				file, err := readConfig(match, u, depth+1)
				if err != nil {
					return nil, err
				}
				d.included = append(d.included, file)
			}
		}
	}
	return directives, nil
}

// includePath returns what the pattern of an Include in file names. Relative
// ones are relative to the folder of the user's configuration, or the
// system's, whatever -F says.
func (u localUser) includePath(pattern, file string) string {
	pattern = u.expandHome(pattern)
	switch {
	case filepath.IsAbs(pattern):
		return pattern
	case strings.HasPrefix(filepath.Clean(file), "/etc/ssh/"):
		return filepath.Join("/etc/ssh", pattern)
	}
	return filepath.Join(u.home, ".ssh", pattern)
}

// looksLikeHosts says whether text is a list of hosts rather than an
// ssh_config file: it has nothing that we would read from such a file, and
// lines such as "node1", "node1:8" or "node1 slots=8".
func looksLikeHosts(text []byte) bool {
	hostLine := false
	for line := range bytes.Lines(text) {
		fields := strings.FieldsFunc(string(line), func(r rune) bool { return strings.ContainsRune(" \t\r\n=", r) })
		switch {
		case len(fields) == 0, strings.HasPrefix(fields[0], "#"):
		case slices.Contains(readKeywords, strings.ToLower(fields[0])):
			return false
		case len(fields) == 1, slices.Contains(fields[1:], "slots"), slices.Contains(fields[1:], "max_slots"):
			hostLine = true
		}
	}
	return hostLine
}

// readKeywords are the directives we act upon.
var readKeywords = []string{
	"host", "match", "include",
	"addressfamily", "bindaddress", "certificatefile", "connecttimeout", "globalknownhostsfile", "hashknownhosts",
	"hostkeyalias", "hostname", "identitiesonly", "identityagent", "identityfile", "port", "proxycommand",
	"proxyjump", "stricthostkeychecking", "user", "userknownhostsfile",
}

// parseConfig reads the lines of the file called name. Unknown keywords are
// not its business: OpenSSH's grow by the year.
func parseConfig(name string, text []byte) ([]directive, error) {
	var directives []directive
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, maxConfigSize+1)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimFunc(lines.Text(), isConfigSpace)
		if line == "" || line[0] == '#' {
			continue
		}
		d := directive{pos: fmt.Sprintf("%s:%d", name, n)}
		// The keyword ends at blanks or one equals sign among them.
		end := strings.IndexFunc(line, func(r rune) bool { return isConfigSpace(r) || r == '=' })
		if end < 0 {
			return nil, fmt.Errorf("%s: expected a keyword and its value, found %q", d.pos, line)
		}
		d.keyword = strings.ToLower(line[:end])
		rest := strings.TrimLeftFunc(line[end:], isConfigSpace)
		rest = strings.TrimLeftFunc(strings.TrimPrefix(rest, "="), isConfigSpace)
		var err error
		if d.args, err = splitArgs(rest); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", d.pos, line[:end], err)
		}
		if len(d.args) == 0 {
			return nil, fmt.Errorf("%s: expected a value after %s, found none", d.pos, line[:end])
		}
		directives = append(directives, d)
	}
	return directives, lines.Err()
}

func isConfigSpace(r rune) bool { return r == ' ' || r == '\t' || r == '\r' || r == '\f' || r == '\n' }

// splitArgs splits a line at blanks that are not quoted. A # that starts a
// word starts a comment.
func splitArgs(line string) ([]string, error) {
	var args []string
	for {
		line = strings.TrimLeftFunc(line, isConfigSpace)
		if line == "" || line[0] == '#' {
			return args, nil
		}
		var arg strings.Builder
		quote := byte(0)
		i := 0
		for ; i < len(line); i++ {
			c := line[i]
			switch {
			case quote == 0 && isConfigSpace(rune(c)):
			case c == '\\' && i+1 < len(line) && (line[i+1] == '"' || line[i+1] == '\'' || line[i+1] == '\\' || quote == 0 && line[i+1] == ' '):
				i++
				arg.WriteByte(line[i])
				continue
			case quote == 0 && (c == '"' || c == '\''):
				quote = c
				continue
			case c == quote && quote != 0:
				quote = 0
				continue
			default:
				arg.WriteByte(c)
				continue
			}
			break
		}
		if quote != 0 {
			return nil, errors.New("a quoted value has no end")
		}
		args = append(args, arg.String())
		line = line[i:]
	}
}

// evaluation is what the files say for one host.
type evaluation struct {
	host, user string // as written; user: known before the files are read, or ""
	local      localUser
	values     map[string][]value
	err        error // the first condition that cannot be evaluated and governs something we read
}

// value is one occurrence of a keyword.
type value struct {
	args []string
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
			e.values[d.keyword] = append(e.values[d.keyword], value{args: d.args, pos: d.pos})
		}
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
