// Package shellwords splits commands into words where no shell does it: the
// values of flags, [Command], and the lines of files, [Line].
//
// Both follow the POSIX shell (Shell Command Language, 2.2 Quoting and 2.3 Token
// Recognition): blanks part words; '…' keeps what is in it; "…" too, but for a
// backslash before $, `, ", \ or a newline; elsewhere a backslash takes the next
// character as it is, and joins lines before a newline; "#" where a word would
// begin starts a comment up to the end of its line.
//
// Nothing is replaced: "*" and "~" are characters as any others. What only a
// shell could do is refused in a command, where its author may count on a shell,
// and stands for itself in a file.
//
// The values of an ssh_config have other rules, which launcher/remote follows: a
// backslash in them escapes little, and "=" parts words too.
package shellwords

import "strings"

// Error says where a text cannot be split, and why.
type Error struct {
	Offset int // in bytes
	Reason string
}

// Error returns, for example, "expected a closing ', found the end".
func (e *Error) Error() string { return e.Reason }

// active are the characters by which a shell is asked to do more than to split.
const active = "$`;|&<>()"

// Command splits the words of a command, of which there may be none. A newline
// outside of quotation marks is a blank. Its error is an [*Error].
func Command(text string) (words []string, err error) {
	s := scanner{text: text, refused: active}
	for s.at < len(text) {
		line, err := s.line()
		if err != nil {
			return nil, err
		}
		words = append(words, line...)
	}
	return words, nil
}

// Line splits the first line of text, and returns how many bytes it has with
// its newline. A quotation ends within its line, since the next one is another
// command. Its error is an [*Error].
func Line(text string) (words []string, n int, err error) {
	s := scanner{text: text, oneLine: true}
	words, err = s.line()
	return words, s.at, err
}

// scanner is a cursor over a text.
type scanner struct {
	text    string
	at      int
	refused string // characters that need a quotation
	oneLine bool   // quotations end before a newline
}

// line reads words up to the end of the line, and the newline.
func (s *scanner) line() (words []string, err error) {
	var word []byte // nil between words
	end := func() {
		if word != nil {
			words = append(words, string(word))
		}
		word = nil
	}
	for s.at < len(s.text) {
		c := s.text[s.at]
		s.at++
		switch {
		case c == '\n':
			end()
			return words, nil
		case c == ' ' || c == '\t':
			end()
		case c == '#' && word == nil:
			s.comment()
		case c == '\\' && s.at == len(s.text):
			return nil, &Error{s.at - 1, `expected a character behind "\", found the end`}
		case c == '\\' && s.text[s.at] == '\n':
			s.at++
		case c == '\\':
			word = append(word, s.text[s.at])
			s.at++
		case c == '\'' || c == '"':
			if word == nil {
				word = []byte{} // '' is a word
			}
			if word, err = s.quotation(word, c); err != nil {
				return nil, err
			}
		case strings.IndexByte(s.refused, c) >= 0:
			return nil, s.shellOnly(c)
		default:
			word = append(word, c)
		}
	}
	end()
	return words, nil
}

// comment goes to the end of the line.
func (s *scanner) comment() {
	if n := strings.IndexByte(s.text[s.at:], '\n'); n >= 0 {
		s.at += n
	} else {
		s.at = len(s.text)
	}
}

// quotation appends to word what stands before the closing mark, and passes it.
func (s *scanner) quotation(word []byte, mark byte) ([]byte, error) {
	begin := s.at - 1
	for s.at < len(s.text) {
		c := s.text[s.at]
		s.at++
		switch {
		case c == mark:
			return word, nil
		case c == '\n' && s.oneLine:
			return nil, &Error{begin, "expected a closing " + string(mark) + ", found the end of the line"}
		case mark == '"' && c == '\\' && s.at < len(s.text) && strings.IndexByte("$`\"\\\n", s.text[s.at]) >= 0:
			if s.text[s.at] != '\n' {
				word = append(word, s.text[s.at])
			}
			s.at++
		case mark == '"' && (c == '$' || c == '`') && s.refused != "":
			return nil, s.shellOnly(c)
		default:
			word = append(word, c)
		}
	}
	return nil, &Error{begin, "expected a closing " + string(mark) + ", found the end"}
}

// shellOnly refuses the character that was just read.
func (s *scanner) shellOnly(c byte) error {
	return &Error{s.at - 1, "no shell runs it, so that " + string(c) + " in it needs single quotation marks, or a script of its own"}
}
