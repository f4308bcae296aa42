package hostfiles

import (
	"strings"
)

// hostLine reads one line of a hostfile: a host or range of hosts with its
// attributes, or nothing but a comment.
func (p *parser) hostLine(text string) {
	l := line{text: text}
	if l.end() {
		return
	}
	column := l.column()
	e, ok := p.entry(l.word(), column)
	for !l.end() {
		ok = p.attribute(&l, &e) && ok
	}
	if ok {
		p.add(e)
	}
}

// line is a cursor over one line of a hostfile.
type line struct {
	text string
	at   int // bytes of text that were read
}

// column is where the next byte stands, counted from 1.
func (l *line) column() int { return l.at + 1 }

// skip passes over blanks.
func (l *line) skip() {
	for l.at < len(l.text) && blank(l.text[l.at]) {
		l.at++
	}
}

// end passes over blanks and reports whether only a comment or nothing follows.
func (l *line) end() bool {
	l.skip()
	rest := l.text[l.at:]
	return rest == "" || rest[0] == '#' || strings.HasPrefix(rest, "//")
}

// word reads up to the next blank.
func (l *line) word() string {
	return l.until(blank)
}

// until reads up to the next byte that is a stop.
func (l *line) until(stop func(byte) bool) string {
	start := l.at
	for l.at < len(l.text) && !stop(l.text[l.at]) {
		l.at++
	}
	return l.text[start:l.at]
}

// accept passes over c if it comes next, and reports whether it did.
func (l *line) accept(c byte) bool {
	if l.at == len(l.text) || l.text[l.at] != c {
		return false
	}
	l.at++
	return true
}

// value reads the value of an attribute, bare or between quotation marks, and
// the blanks before it. It reports whether the value is well formed; if not,
// it has been passed over all the same.
func (l *line) value() (string, bool) {
	if l.at < len(l.text) && blank(l.text[l.at]) && l.end() {
		return "", false // only after a blank can it be a comment
	}
	if !l.accept('"') {
		v := l.word()
		return v, !strings.ContainsAny(v, `"=`)
	}
	var v strings.Builder
	for l.at < len(l.text) {
		c := l.text[l.at]
		l.at++
		switch c {
		case '"':
			// Something glued to the closing mark belongs to no word.
			return v.String(), l.word() == ""
		case '\\':
			if l.at == len(l.text) || l.text[l.at] != '"' && l.text[l.at] != '\\' {
				l.word()
				return "", false
			}
			c = l.text[l.at]
			l.at++
		}
		v.WriteByte(c)
	}
	return "", false
}

// quote returns v as value reads it.
func quote(v string) string {
	if !strings.ContainsAny(v, " \t\"=") {
		return v
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(v) + `"`
}

func blank(c byte) bool { return c == ' ' || c == '\t' }
