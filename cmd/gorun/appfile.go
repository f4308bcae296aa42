package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// An --app file has a program a line: its flags, its name and its arguments,
// as they would stand between two colons. Words are parted by blanks. '…'
// keeps what is in it, "…" too but for \" and \\, and elsewhere a backslash
// takes the next character as it is; before the end of a line it joins the
// next one to it. "#" where a word would begin starts a comment. Nothing is
// replaced, no variable and no pattern, and ":" is a word like any other.

// maxAppFile bounds an --app file, in bytes: far above any job's.
const maxAppFile = 4 << 20

// readAppFile returns the lines of an --app file that have a program. Its
// error is a *usageError.
func readAppFile(name string) ([]line, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, refusal("--app: "+err.Error(), append(pathHints(err), "gorun -np 1 ./a : -np 2 ./b")...)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxAppFile+1))
	switch {
	case err != nil:
		return nil, refusal("--app: "+err.Error()+"; expected a file", "-np 2 ./train is a line of it")
	case len(text) > maxAppFile:
		return nil, refusal(fmt.Sprintf("--app: expected at most %d bytes, found more in %s", maxAppFile, name),
			"-np 2 ./train is a line of it")
	case slices.Contains(text, 0):
		return nil, refusal("--app: expected programs, found a file that is not text: "+name, "-np 2 ./train is a line of it")
	}
	lines, err := appLines(name, string(text))
	if err == nil && len(lines) == 0 {
		err = refusal("--app: expected a program a line, found none in "+name, "-np 2 ./train is a line of it")
	}
	return lines, err
}

// appLines parts the text of an --app file into words.
func appLines(name, text string) (lines []line, err error) {
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n")
	number, begin := 1, 0 // of the line at i, and where it begins
	refuse := func(i int, msg string) ([]line, error) {
		return nil, refusal(fmt.Sprintf("%s:%d:%d: %s", name, number, i-begin+1, msg),
			`a word with blanks is written: "two words"`)
	}
	l := line{place: fmt.Sprintf("%s:%d", name, number)}
	var word []byte // nil between words
	endWord := func() {
		if word != nil {
			l.words = append(l.words, string(word))
		}
		word = nil
	}
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\n':
			endWord()
			if len(l.words) > 0 {
				lines = append(lines, l)
			}
			number, begin = number+1, i+1
			l = line{place: fmt.Sprintf("%s:%d", name, number)}
		case c == ' ' || c == '\t':
			endWord()
		case c == '#' && word == nil:
			if end := strings.IndexByte(text[i:], '\n'); end >= 0 {
				i += end - 1
			} else {
				i = len(text)
			}
		case c == '\\' && i+1 < len(text) && text[i+1] == '\n':
			i++
			number, begin = number+1, i+1
		case c == '\\' && i+1 == len(text):
			return refuse(i, `expected a character behind "\", found the end of the file`)
		case c == '\\':
			i++
			word = append(word, text[i])
		case c == '\'' || c == '"':
			quoted, n := quotation(text[i:])
			if n == 0 {
				return refuse(i, fmt.Sprintf("expected a closing %c, found the end of the line", c))
			}
			word = append(word, quoted...)
			if word == nil {
				word = []byte{} // '' is a word
			}
			i += n - 1
		default:
			word = append(word, text[i])
		}
	}
	endWord()
	if len(l.words) > 0 {
		lines = append(lines, l)
	}
	return lines, nil
}

// quotation returns what stands in the quotation marks that text begins with,
// and how long it is with them; 0 if they do not end in this line.
func quotation(text string) (content []byte, n int) {
	mark := text[0]
	for i := 1; i < len(text) && text[i] != '\n'; i++ {
		switch c := text[i]; {
		case c == mark:
			return content, i + 1
		case mark == '"' && c == '\\' && i+1 < len(text) && (text[i+1] == '"' || text[i+1] == '\\'):
			i++
			content = append(content, text[i])
		default:
			content = append(content, text[i])
		}
	}
	return nil, 0
}

// readPrograms makes the lines of the --app file the job's programs. The flags
// beside --app are said for each of them.
func (c *command) readPrograms() error {
	lines, err := readAppFile(c.appFile)
	if err != nil {
		return err
	}
	common, job, hosts := c.job.Apps[0], c.programs[0].settings, c.hostList
	c.job.Apps, c.programs = nil, nil
	for _, l := range lines {
		c.addProgram(l)
		*c.program() = common
		err := c.readProgram(l, job)
		if err == nil && len(lines) > 1 && c.program().Ranks == 0 {
			err = refusal("expected the number of ranks of each of several programs, found none", l.with(0, 0, "-np", "1"))
		}
		if usage, ok := errors.AsType[*usageError](err); ok {
			return refusal(l.place+": "+usage.msg, usage.hints...)
		}
		c.takeHosts()
	}
	if len(lines) == 1 {
		c.shareHosts()
	}
	c.hostList = append(hosts, c.hostList...)
	return c.checkOwnHosts()
}

// readProgram applies one line of the file. Its error is a *usageError.
func (c *command) readProgram(l line, job []setting) error {
	settings, begin, err := newGrammar(c.flags()).flags(l, 0)
	if err != nil {
		return err
	}
	if begin < len(l.words) && l.words[begin] == "--" {
		begin++
	}
	switch {
	case begin == len(l.words):
		return refusal("expected a program, found the end of the line", l.with(begin, 0, "./train"))
	case l.words[begin] == "":
		return refusal(`expected a program, found the empty word ""`, l.with(begin, 1, "./train"))
	}
	p := part{settings: settings, begin: begin, program: l.words[begin:]}
	c.programs[len(c.programs)-1].part = p
	if settings, err = own(l, settings, job); err != nil {
		return err
	}
	return c.apply(settings, p.program)
}
