package main

import (
	"fmt"
	"strings"
)

// A setting is one flag as it was written.
type setting struct {
	flag   *flag
	at     int    // index of its word in argv
	as     string // as written, with its dashes: "-np"
	values []string
	joined bool // written as -np=4, so that the value is not a word of its own
}

// split cuts a command line into the flags and the program with its
// arguments. It is the pre-pass that knows how many words belong to every
// flag, ours and foreign ones, and nothing of what they mean. Program is a
// tail of argv, untouched.
func split(argv []string) (settings []setting, program []string, err error) {
	for i := 0; i < len(argv); {
		word := argv[i]
		if word == "--" {
			return settings, argv[i+1:], nil
		}
		if len(word) < 2 || word[0] != '-' {
			program = argv[i:]
			break
		}
		name, value, joined := strings.Cut(strings.TrimPrefix(word[1:], "-"), "=")
		s := setting{flag: lookup(name), at: i, joined: joined}
		s.as, _, _ = strings.Cut(word, "=")
		if s.flag == nil {
			return nil, nil, unknownFlag(argv, i)
		}
		if s.flag.set == nil {
			return nil, nil, flagNotBuilt(argv, s)
		}
		arity := s.flag.arity()
		switch {
		case joined && arity == 0:
			return nil, nil, &usageError{
				msg:   fmt.Sprintf("%s: expected no value, found %q", s.as, value),
				hints: []string{commandLine(replaced(argv, i, 1, s.as))},
			}
		case joined && arity == 1:
			s.values = []string{value}
			i++
		case joined:
			return nil, nil, &usageError{
				msg:   fmt.Sprintf("%s: expected %d words behind it (%s), found \"=\"", s.as, arity, s.flag.args),
				hints: []string{commandLine([]string{s.as, "NAME", "VALUE", "…"})},
			}
		default:
			if len(argv)-i-1 < arity {
				return nil, nil, &usageError{
					msg:   fmt.Sprintf("%s: expected %s behind it, found the end of the command", s.as, s.flag.args),
					hints: []string{"gorun help lists the flags and their values"},
				}
			}
			s.values = argv[i+1 : i+1+arity]
			i += 1 + arity
		}
		settings = append(settings, s)
	}
	for i, word := range program {
		// mpirun's separator of programs. It is reserved, not passed on, so
		// that a command line means the same once several programs are built.
		if word == ":" {
			return nil, nil, &usageError{
				msg: `several programs (":") are not built yet`,
				hints: []string{
					"one program: " + commandLine(argv[:len(argv)-len(program)+i]),
					`to hand ":" to the program: ` + commandLine(replaced(argv, len(argv)-len(program), 0, "--")),
				},
			}
		}
	}
	return settings, program, nil
}

// unknownFlag refuses the flag at argv[i] and names the nearest that exists.
func unknownFlag(argv []string, i int) error {
	word := argv[i]
	name, _, _ := strings.Cut(strings.TrimLeft(word, "-"), "=")
	if name == "c" {
		return &usageError{
			msg: "-c is refused: it is the number of ranks to Open MPI, and of CPUs for each rank to srun",
			hints: []string{
				"for the number of ranks: " + commandLine(replaced(argv, i, 1, "-np")),
				"CPUs for each rank (--cpus-per-rank) are not built yet",
			},
		}
	}
	err := &usageError{msg: fmt.Sprintf("unknown flag %s", word)}
	if known, value := digitsBehindName(name); known != "" {
		err.hints = append(err.hints, "a value is a word of its own: "+commandLine(replaced(argv, i, 1, "-"+known, value)))
	} else if near := nearestFlag(name); near != "" {
		meant := spelled(near)
		if lookup(near).set == nil {
			err.hints = append(err.hints, fmt.Sprintf("%s is not built yet", meant))
		} else {
			_, value, joined := strings.Cut(word, "=")
			if joined {
				meant += "=" + value
			}
			err.hints = append(err.hints, "did you mean: "+commandLine(replaced(argv, i, 1, meant)))
		}
	}
	err.hints = append(err.hints, "gorun help lists the flags; those of the program stand behind the program")
	return err
}

// digitsBehindName takes "np4" for the flag np and the value 4.
func digitsBehindName(word string) (name, value string) {
	name = strings.TrimRight(word, "0123456789")
	if f := lookup(name); f == nil || f.set == nil || f.arity() != 1 {
		return "", ""
	}
	return name, word[len(name):]
}

// flagNotBuilt refuses a reserved flag and offers the command without it.
func flagNotBuilt(argv []string, s setting) error {
	err := &usageError{msg: fmt.Sprintf("%s is not built yet", s.as)}
	if s.flag.instead != "" {
		err.hints = append(err.hints, "what there is: "+s.flag.instead)
	}
	words := 1
	if !s.joined {
		words += min(s.flag.arity(), len(argv)-s.at-1)
	}
	err.hints = append(err.hints, "without it: "+commandLine(replaced(argv, s.at, words)))
	return err
}

// replaced returns a copy of argv with n words from index i on replaced.
func replaced(argv []string, i, n int, words ...string) []string {
	out := append([]string{}, argv[:i]...)
	out = append(out, words...)
	return append(out, argv[i+n:]...)
}

// commandLine returns a command of gorun as one types it into a shell, cut
// where it gets too long to be read.
func commandLine(argv []string) string {
	const enough = 160
	line := "gorun"
	for _, word := range argv {
		if len(line)+1+len(word) > enough {
			return line + " …"
		}
		line += " " + quoted(word)
	}
	return line
}

// quoted returns a word as one types it into a POSIX shell.
func quoted(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			strings.ContainsRune("_@%+=:,./-…", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
