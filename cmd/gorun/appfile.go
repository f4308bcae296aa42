package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/gorun/gorun/internal/shellwords"
)

// An --app file has a program a line: its flags, its name and its arguments,
// as they would stand between two colons, split as package shellwords says.
// Nothing is replaced, no variable and no pattern, and ":" is a word like any
// other.

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

// appLines splits the text of an --app file into words.
func appLines(name, text string) (lines []line, err error) {
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n")
	for number := 1; text != ""; {
		words, n, err := shellwords.Line(text)
		if bad, ok := errors.AsType[*shellwords.Error](err); ok {
			before := text[:bad.Offset]
			return nil, refusal(fmt.Sprintf("%s:%d:%d: %v", name, number+strings.Count(before, "\n"), bad.Offset-strings.LastIndexByte(before, '\n'), err),
				`a word with blanks is written: "two words"`)
		}
		if len(words) > 0 {
			lines = append(lines, line{place: fmt.Sprintf("%s:%d", name, number), words: words})
		}
		number += strings.Count(text[:n], "\n")
		text = text[n:]
	}
	return lines, nil
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
