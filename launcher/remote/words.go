package remote

import (
	"errors"
	"fmt"
	"strings"
)

// splitWords splits a command into words as a shell would, with its quotes and
// backslashes. No shell runs it, so what only a shell could do is refused.
func splitWords(command string) ([]string, error) {
	var words []string
	var word strings.Builder
	begun := false // the word being read has begun, if only with a quote
	quote := byte(0)
	for i := 0; i < len(command); i++ {
		c := command[i]
		switch {
		case c == '\\' && quote != '\'' && i+1 < len(command) && (quote == 0 || strings.IndexByte("\"\\$`\n", command[i+1]) >= 0):
			i++
			word.WriteByte(command[i])
			begun = true
		case c == quote && quote != 0:
			quote = 0
		case quote != 0 && !(quote == '"' && (c == '$' || c == '`')):
			word.WriteByte(c)
		case c == '"' || c == '\'':
			quote, begun = c, true
		case c == ' ' || c == '\t' || c == '\n':
			if begun {
				words = append(words, word.String())
			}
			word.Reset()
			begun = false
		case strings.IndexByte("$`;|&<>()", c) >= 0:
			return nil, fmt.Errorf("no shell runs the command: %q in it needs single quotes, or a script of its own", c)
		default:
			word.WriteByte(c)
			begun = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("a %c has no end", quote)
	}
	if begun {
		words = append(words, word.String())
	}
	if len(words) == 0 {
		return nil, errors.New("expected a command, found none")
	}
	return words, nil
}
