package main

import (
	"embed"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/gorun/gorun/launcher"
)

// Completion is divided as the command line is: a shell's script hands over the
// words, complete says what may stand there, and where a program's own words
// begin, the shell completes as it would for that program.

//go:embed completion
var completions embed.FS

var shells = []string{"bash", "zsh", "fish"}

// completion prints a shell's script, or, for the scripts, "complete -- word…",
// what may stand in place of the last word.
func completion(argv []string) int {
	con := newConsole(os.Stderr)
	switch {
	case len(argv) > 2 && argv[0] == "complete" && argv[1] == "--":
		return printed(complete(argv[2:]).write(os.Stdout))
	case len(argv) == 1 && slices.Contains(shells, argv[0]):
		script, err := completions.ReadFile("completion/gorun." + argv[0])
		if err == nil {
			_, err = os.Stdout.Write(script)
		}
		return printed(err)
	case len(argv) == 0:
		return refuse(con, refusal("completion: expected bash, zsh or fish, found the end of the command",
			"gorun completion bash >~/.local/share/bash-completion/completions/gorun",
			"gorun completion zsh >~/.zfunc/_gorun, with ~/.zfunc in fpath",
			"gorun completion fish >~/.config/fish/completions/gorun.fish"))
	}
	return refuse(con, refusal("completion: expected bash, zsh or fish, found "+strings.Join(argv, " "),
		"gorun completion "+closest(argv[0], shells)))
}

// printed returns the exit status of a verb that printed something.
func printed(err error) int {
	if err != nil {
		return launcher.StatusFailed
	}
	return 0
}

// A proposal is what may stand in place of a word.
type proposal struct {
	// kind is what the shell knows best: files, folders, commands or variables,
	// or "program N" if the word is one of those of the program that word N
	// names. "": the words alone.
	kind  string
	words [][2]string // each with what it means
}

// write puts the proposal as scripts read it: the kind, then a word a line,
// with a tab before its meaning.
func (p proposal) write(w io.Writer) error {
	text := p.kind + "\n"
	for _, word := range p.words {
		text += word[0] + "\t" + word[1] + "\n"
	}
	_, err := io.WriteString(w, text)
	return err
}

// complete proposes what may stand in place of the last of the words, which
// follow "gorun". It is lenient with what stands before.
func complete(words []string) proposal {
	flags := newCommand(nil).flags()
	g := newGrammar(flags)
	last := len(words) - 1
	var p proposal
	if last == 0 {
		for _, verb := range verbs {
			if strings.HasPrefix(verb.name, words[0]) {
				p.words = append(p.words, [2]string{verb.name, verb.does})
			}
		}
	}
	for i := 0; i < last; {
		word := words[i]
		switch {
		case i == 0 && word == "help":
			p.words = flagWords(words[last])
			for _, verb := range verbs {
				if strings.HasPrefix(verb.name, words[last]) {
					p.words = append(p.words, [2]string{verb.name, verb.does})
				}
			}
			return p
		case i == 0 && word == "completion":
			return enumerated(shells, words[last])
		case i == 0 && word == "run":
			i++
		case word == "--":
			return programFrom(i+1, last)
		case len(word) >= 2 && word[0] == '-':
			name, _, joined := strings.Cut(strings.TrimPrefix(word[1:], "-"), "=")
			f := g.lookup(name)
			i++
			if f == nil || joined {
				continue
			}
			next := ""
			if i < last {
				next = words[i]
			}
			if last < i+f.arity(next) {
				return valueOf(f, strings.Fields(f.args)[last-i], "", words[last])
			}
			i += f.arity(next)
		default:
			colon := slices.Index(words[i:last], ":")
			if colon < 0 {
				return programFrom(i, last)
			}
			i += colon + 1
		}
	}
	current := words[last]
	if name, value, joined := strings.Cut(current, "="); joined && current[0] == '-' {
		if f := g.lookup(strings.TrimLeft(name, "-")); f != nil && f.takesValue() {
			return valueOf(f, f.args, name+"=", value)
		}
	}
	if strings.HasPrefix(current, "-") {
		p.words = append(p.words, flagWords(current)...)
		return p
	}
	p.kind = "commands"
	return p
}

// programFrom leaves words to the program that word n names.
func programFrom(n, last int) proposal {
	if n == last {
		return proposal{kind: "commands"}
	}
	return proposal{kind: fmt.Sprint("program ", n)}
}

// flagWords lists the flags of ours that begin with what was typed, with a
// dash or two or none.
func flagWords(typed string) (words [][2]string) {
	prefix := strings.TrimLeft(typed, "-")
	for _, f := range newCommand(nil).flags() {
		f := f.(flag)
		for _, name := range f.names {
			if f.Hidden || !strings.HasPrefix(name, prefix) {
				continue
			}
			word := spelled(name)
			if strings.HasPrefix(typed, "--") && !strings.HasPrefix(word, "--") {
				word = "-" + word
			}
			words = append(words, [2]string{word, f.Usage})
		}
	}
	return words
}

// valueOf proposes a value of f whose name in the help is args, behind lead.
func valueOf(f *form, args, lead, typed string) proposal {
	switch {
	case strings.HasPrefix(args, "NAME"):
		return proposal{kind: "variables"}
	case args == "F" || args == "FILE":
		return proposal{kind: "files"}
	case args == "DIR":
		return proposal{kind: "folders"}
	}
	var words []string
	for word := range strings.SplitSeq(args, "|") {
		if word != "" && word == strings.ToLower(word) {
			words = append(words, lead+word)
		}
	}
	return enumerated(words, lead+typed)
}

// enumerated proposes those of the words that begin with what was typed.
func enumerated(words []string, typed string) (p proposal) {
	for _, word := range words {
		if strings.HasPrefix(word, typed) {
			p.words = append(p.words, [2]string{word, ""})
		}
	}
	return p
}
