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
	raw      string        // all that follows the keyword, as written
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
// ssh_config file: it has nothing that stands in such a file, and
// lines such as "node1", "node1:8" or "node1 slots=8".
func looksLikeHosts(text []byte) bool {
	hostLine := false
	for line := range bytes.Lines(text) {
		fields := strings.FieldsFunc(string(line), func(r rune) bool { return strings.ContainsRune(" \t\r\n=", r) })
		switch {
		case len(fields) == 0, strings.HasPrefix(fields[0], "#"):
		case keywords[strings.ToLower(fields[0])] != unknown:
			return false
		case len(fields) == 1, slices.Contains(fields[1:], "slots"), slices.Contains(fields[1:], "max_slots"):
			hostLine = true
		}
	}
	return hostLine
}

// parseConfig reads the lines of the file called name. Unknown keywords are
// not its business, since IgnoreUnknown may stand in another file.
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
		d.raw = rest
		var err error
		if d.args, err = splitArgs(rest); err != nil && d.keyword == "proxycommand" {
			d.args, err = []string{rest}, nil // its quotes are the shell's
		}
		if err != nil {
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

// splitArgs splits a line at blanks that are not quoted, as OpenSSH's argv_split
// does, which is not how shells do (package shellwords): a backslash takes a
// quotation mark, a backslash or, unquoted, a blank, and stands for itself
// before anything else. A # that starts a word starts a comment.
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
