// Package envfile reads and writes files of environment variables, as Docker,
// Compose and the dotenv libraries have them: [Read] reads one, [Format] writes
// what [Parse] reads.
//
//	# a comment
//	NCCL_DEBUG=INFO              # behind a value, a comment has a blank before it
//	export DATA=/scratch/data    # the word of the shell makes no difference
//	EMPTY=
//	JSON='{"lr": 0.1, "note": "as it is"}'
//	MOTD="first line\nsecond line"
//	KEY="several lines,
//	up to the quotation mark"
//
// A value without quotation marks is the rest of its line, blanks at its ends
// left out. In single ones everything stands for itself. In double ones \n, \r,
// \t, \", \\, \$ and \` stand for one character each.
//
// Nothing is replaced: "$HOME" is five characters. What a file shows is what
// ranks get, on every host and whoever starts them.
package envfile

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// MaxSize bounds a file: Linux passes no more to a program.
const MaxSize = 8 << 20

// SyntaxError says where a file cannot be read.
type SyntaxError struct {
	File        string
	Line        int // from 1
	Want, Found string
}

// Error returns, for example, `vars:3: expected NAME=value, found "x y"`.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%s:%d: expected %s, found %s", e.File, e.Line, e.Want, e.Found)
}

// Variable is one of a file's.
type Variable struct {
	Entry string // "NAME=value"
	Line  int    // on which it begins, from 1
}

// Read returns the variables of a file, as [Parse] does.
func Read(name string) ([]Variable, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, MaxSize+1))
	if err != nil {
		return nil, err
	}
	if len(b) > MaxSize {
		return nil, fmt.Errorf("%s: expected at most %d bytes of variables, found more", name, MaxSize)
	}
	return Parse(name, string(b))
}

// Parse returns the variables in the text of the file called name, in order. Its
// error is a [*SyntaxError].
func Parse(name, text string) (vars []Variable, err error) {
	p := parser{file: name, line: 1, rest: strings.TrimPrefix(text, "\ufeff")}
	for p.rest != "" {
		line := p.line
		entry, err := p.entry()
		if err != nil {
			return nil, err
		}
		if entry != "" {
			vars = append(vars, Variable{entry, line})
		}
	}
	return vars, nil
}

// parser goes through a file. Between entries rest begins at the start of a line.
type parser struct {
	file string
	line int
	rest string
}

func (p *parser) fail(want, found string) error {
	return &SyntaxError{p.file, p.line, want, found}
}

// entry reads the next line, or the lines of a value in quotation marks; "" if
// it has no variable.
func (p *parser) entry() (string, error) {
	line, _, _ := strings.Cut(p.rest, "\n")
	if i := strings.IndexByte(line, 0); i >= 0 {
		return "", p.fail("text", "a byte of value 0")
	}
	text := strings.TrimSpace(line)
	if text == "" || text[0] == '#' {
		p.next()
		return "", nil
	}
	name, _, ok := strings.Cut(text, "=")
	name = strings.TrimSpace(name)
	if word, after, ok := strings.Cut(name, " "); ok && word == "export" {
		name = strings.TrimSpace(after)
	}
	if !ok || !isName(name) {
		return "", p.fail("NAME=value", strconv.Quote(excerpt(text)))
	}
	p.rest = strings.TrimLeft(p.rest[strings.IndexByte(p.rest, '=')+1:], " \t")
	if p.rest == "" || p.rest[0] != '\'' && p.rest[0] != '"' {
		return name + "=" + p.bare(), nil
	}
	value, err := p.quoted(p.rest[0])
	return name + "=" + value, err
}

// isName accepts what a shell or, as "BASH_FUNC_ml%%", bash itself may export.
func isName(s string) bool {
	return s != "" && (s[0] < '0' || s[0] > '9') && !strings.ContainsAny(s, " \t\r\v\f\"'#\x00")
}

// excerpt is what an error shows of a line, which may be anything.
func excerpt(line string) string {
	if len(line) > 40 {
		return line[:40] + "…"
	}
	return line
}

// next goes to the next line.
func (p *parser) next() {
	_, p.rest, _ = strings.Cut(p.rest, "\n")
	p.line++
}

// bare reads the rest of the line, up to a comment.
func (p *parser) bare() string {
	value, _, _ := strings.Cut(p.rest, "\n")
	p.next()
	for i := range len(value) {
		if value[i] == '#' && (i == 0 || value[i-1] == ' ' || value[i-1] == '\t') {
			value = value[:i]
			break
		}
	}
	return strings.TrimSpace(value)
}

// escapes are the characters behind a backslash, in double quotation marks.
var escapes = map[byte]byte{'n': '\n', 'r': '\r', 't': '\t', '"': '"', '\\': '\\', '$': '$', '`': '`'}

// quoted reads a value in quotation marks and the rest of its last line.
func (p *parser) quoted(mark byte) (string, error) {
	var value strings.Builder
	lines := 0
	for i := 1; i < len(p.rest); i++ {
		c := p.rest[i]
		switch {
		case c == mark:
			p.rest, p.line = p.rest[i+1:], p.line+lines
			return value.String(), p.endOfLine()
		case c == 0:
			p.line += lines
			return "", p.fail("text", "a byte of value 0")
		case c == '\n':
			lines++
		case c == '\\' && mark == '"' && i+1 < len(p.rest):
			escaped, known := escapes[p.rest[i+1]]
			if !known {
				p.line += lines
				return "", p.fail(`one of \n \r \t \" \\ \$ \`+"`", strconv.Quote(p.rest[i:i+2]))
			}
			c = escaped
			i++
		}
		value.WriteByte(c)
	}
	return "", p.fail("the value's end, "+string(mark), "the end of the file")
}

// endOfLine refuses what follows a quotation mark, but for a comment.
func (p *parser) endOfLine() error {
	line, _, _ := strings.Cut(p.rest, "\n")
	if text := strings.TrimSpace(line); text != "" && text[0] != '#' {
		return p.fail("nothing but a comment behind the quotation mark", strconv.Quote(excerpt(text)))
	}
	p.next()
	return nil
}

// Format returns a variable, "NAME=value", as a line that [Parse] reads.
func Format(entry string) string {
	name, value, _ := strings.Cut(entry, "=")
	if value == strings.TrimSpace(value) && !strings.ContainsAny(value, "\"'\\\n\r#") {
		return entry
	}
	if !strings.Contains(value, "'") && !strings.Contains(value, "\n") {
		return name + "='" + value + "'"
	}
	return name + `="` + escaper.Replace(value) + `"`
}

var escaper = strings.NewReplacer("\n", `\n`, "\r", `\r`, `"`, `\"`, `\`, `\\`, "$", `\$`, "`", "\\`")
