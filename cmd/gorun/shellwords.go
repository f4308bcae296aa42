package main

import (
	"errors"
	"strings"
)

// shellWords splits s into words as a POSIX shell does (Shell Command Language,
// 2.2 Quoting and 2.3 Token Recognition), and does nothing else of what a shell
// would: "$", "*", ";" and the like are characters as any others.
func shellWords(s string) (words []string, err error) {
	var word strings.Builder
	begun := false // "" is a word too
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case ' ', '\t', '\n':
			if begun {
				words = append(words, word.String())
				word.Reset()
				begun = false
			}
			continue
		case '\'':
			end := strings.IndexByte(s[i+1:], '\'')
			if end < 0 {
				return nil, errors.New("with an end of its single quotation mark")
			}
			word.WriteString(s[i+1 : i+1+end])
			i += end + 1
		case '"':
			n, err := doubleQuoted(&word, s[i+1:])
			if err != nil {
				return nil, err
			}
			i += n
		case '\\':
			if i++; i == len(s) {
				return nil, errors.New("with a character behind its backslash")
			}
			if s[i] == '\n' {
				continue // a line goes on
			}
			word.WriteByte(s[i])
		default:
			word.WriteByte(c)
		}
		begun = true
	}
	if begun {
		words = append(words, word.String())
	}
	return words, nil
}

// doubleQuoted appends what s begins with, up to a double quotation mark, and
// returns its length with the mark.
func doubleQuoted(word *strings.Builder, s string) (int, error) {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			return i + 1, nil
		case c == '\\' && i+1 < len(s) && strings.IndexByte("$`\"\\\n", s[i+1]) >= 0:
			if i++; s[i] != '\n' {
				word.WriteByte(s[i])
			}
		default:
			word.WriteByte(c)
		}
	}
	return 0, errors.New("with an end of its double quotation mark")
}
