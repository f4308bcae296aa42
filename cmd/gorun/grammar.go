package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// A form is how a flag is written, one of ours or a foreign one.
type form struct {
	names []string // what is accepted behind one dash or two
	// args names the words that follow, "N" or "NAME VALUE"; "" for a switch. One in
	// brackets may be missing: behind a name, "NAME [VALUE]", where that has its value
	// behind "="; alone, "[LIMITS]", it stands behind "=" only, as srun has it.
	args string
	// ours says the same in our flags, each a single word, "--np=4", or what is
	// to be noted.
	ours func(values []string) ([]string, error)
}

// arity is how many words follow the flag, of which next is the first.
func (f *form) arity(next string) int {
	words := strings.Fields(f.args)
	if f.optional() && (len(words) == 1 || strings.Index(next, "=") > 0) {
		return len(words) - 1
	}
	return len(words)
}

// optional reports whether the last word may be missing.
func (f *form) optional() bool {
	return strings.HasPrefix(f.args[strings.LastIndex(f.args, " ")+1:], "[")
}

// takesValue reports whether a value can stand behind "=".
func (f *form) takesValue() bool { return f.args != "" && !strings.Contains(f.args, " ") }

// grammar is all that may stand before the program.
type grammar []form

// rankArg names a rank behind a flag.
const rankArg = "RANK"

// newGrammar adds to a job's flags what the library need not know.
func newGrammar(flags []cli.Flag) grammar {
	g := append(grammarOf(flags), dialects...)
	for _, f := range unneeded {
		g = append(g, f.forms(noted(f.why))...)
	}
	for _, f := range elsewhere {
		g = append(g, f.forms(refused(f.why))...)
	}
	return g
}

// grammarOf is how our flags are written.
func grammarOf(flags []cli.Flag) (g grammar) {
	for _, f := range flags {
		f := f.(flag)
		args := f.Value.(*value).args
		g = append(g, form{append(f.names, synonyms[f.Name]...), args, func(values []string) ([]string, error) {
			// "--pty bash" is likely enough to be told before what follows is read
			// as flags of ours.
			if args == rankArg {
				if err := number(new(int), 0, maxRanks-1, "as a rank", "0")(values[0]); err != nil {
					return nil, err
				}
			}
			return []string{strings.Join(append([]string{"--" + f.Name}, values...), "=")}, nil
		}})
	}
	return g
}

// lookup returns the flag that is written name, nil if there is none. An
// underscore may stand for a dash, as for Python's launchers.
func (g grammar) lookup(name string) *form {
	for _, name := range []string{name, strings.ReplaceAll(name, "_", "-")} {
		for i := range g {
			if slices.Contains(g[i].names, name) {
				return &g[i]
			}
		}
	}
	return nil
}

// isFlag reports whether word is a flag, with a value joined to it or not.
func (g grammar) isFlag(word string) bool {
	name, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(word, "-"), "-"), "=")
	return word != name && word[0] == '-' && g.lookup(name) != nil
}

// A setting is one flag as it was written.
type setting struct {
	form   *form
	at     int    // index of its word in argv
	as     string // as written, with its dashes: "-np"
	values []string
	joined bool     // written as -np=4, so that the value is not a word of its own
	ours   []string // the same in our form
	bare   bool     // the value was left out: what stands there is the next flag, or the program
}

// words is how many words of argv the setting takes.
func (s *setting) words() int {
	if s.joined {
		return 1
	}
	return 1 + len(s.values)
}

// A part is one program of a command line with its flags: what stands between
// two colons.
type part struct {
	at       int // index of its first word in argv
	settings []setting
	begin    int      // index of the program in argv
	program  []string // with its arguments
}

// split cuts a command line into its programs. It is the pre-pass before the
// library: it knows how many words belong to every flag, ours and foreign
// ones, and nothing of what they mean. Behind "--" all is one program's.
func (g grammar) split(l line) (parts []part, err error) {
	for i := 0; ; {
		p := part{at: i}
		if p.settings, i, err = g.flags(l, i); err != nil {
			return nil, err
		}
		if i < len(l.words) && l.words[i] == "--" {
			p.begin, p.program = i+1, l.words[i+1:]
			return append(parts, p), nil
		}
		length := slices.Index(l.words[i:], ":")
		switch {
		case length < 0:
			p.begin, p.program = i, l.words[i:]
			return append(parts, p), nil
		case length == 0:
			return nil, refusal(`expected a program, found ":"`,
				l.with(i, 0, "./train"), "for a program of that name: "+l.with(i, 0, "--"))
		}
		p.begin, p.program = i, l.words[i:i+length]
		parts = append(parts, p)
		i += length + 1
	}
}

// flags reads the flags that begin at word i, and returns where they end: at a
// program, at "--" or with the line.
func (g grammar) flags(l line, i int) (settings []setting, end int, err error) {
	for i < len(l.words) && len(l.words[i]) >= 2 && l.words[i][0] == '-' && l.words[i] != "--" {
		s, err := g.flag(l, i)
		if err != nil {
			return nil, 0, err
		}
		settings = append(settings, s)
		i += s.words()
	}
	return settings, i, nil
}

// flag reads the flag that word i is, with its values.
func (g grammar) flag(l line, i int) (s setting, err error) {
	word := l.words[i]
	name, value, joined := strings.Cut(strings.TrimPrefix(word[1:], "-"), "=")
	s = setting{form: g.lookup(name), at: i, joined: joined}
	s.as, _, _ = strings.Cut(word, "=")
	if s.form == nil {
		return s, g.unknownFlag(l, i)
	}
	next := ""
	if i+1 < len(l.words) {
		next = l.words[i+1]
	}
	arity := s.form.arity(next)
	switch {
	case joined && s.form.takesValue():
		s.values = []string{value}
	case joined && arity == 0:
		return s, refusal(fmt.Sprintf("%s: expected no value, found %q", s.as, value), l.with(i, 1, s.as))
	case joined:
		return s, refusal(fmt.Sprintf("%s: expected %d words behind it (%s), found \"=\"", s.as, arity, s.form.args),
			l.typed([]string{s.as, "NAME", "VALUE", "…"}))
	case len(l.words)-i-1 < arity:
		return s, refusal(fmt.Sprintf("%s: expected %s behind it, found the end of the %s", s.as, s.form.args, l.kind()),
			"gorun help lists the flags and their values")
	default:
		s.values = l.words[i+1 : i+1+arity]
		s.bare = arity == 1 && (g.isFlag(s.values[0]) || i+2 == len(l.words) && strings.Contains(s.values[0], "/") || s.form.args == rankArg)
	}
	if s.ours, err = s.form.ours(s.values); err != nil {
		return s, refusedValue(l, s, err)
	}
	return s, nil
}
