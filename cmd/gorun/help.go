package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"github.com/gorun/gorun/launcher"
)

// examples are what most people want to type first.
var examples = [][2]string{
	{"gorun -np 4 ./train -epochs 3", "four ranks on this host"},
	{"gorun -hostfile hosts -ppn 8 ./train", "eight ranks on each host of a file"},
	{"gorun -H a:2,b:2 --display-map ./train", "two hosts, and where the ranks go"},
	{"gorun -x NCCL_DEBUG=INFO -l ./train", "a variable for the ranks; their lines labelled"},
	{"gorun -np 1 ./server : -np 7 ./worker", "two programs in one job"},
}

// description is what to know before the first command.
const description = `gorun's flags stand before the program. The first word that is not a flag is the
program, and everything behind that is handed to it. -np 4, --np 4 and -np=4 are
the same.

Without -np there is a rank for each slot of the hosts. Where slots are not
declared, a host has one for each GPU, or, without GPUs, for each core that ranks
may use there. Without hosts the job runs on this one, with a rank for each GPU,
or else a single one.

":" stands between several programs. Each has its own -np, -wdir and -x; all
other flags are the whole job's and stand before the first program. To hand ":"
to a program, write "--" before the program.

Flags of mpirun, mpiexec, srun and torchrun are understood where they mean the
same, or refused with what to type instead. "gorun help FLAG" says what one is
here, and what may stand behind it.`

// helpTemplate is what the library prints as help. It keeps the flags in the
// order of their table, where the library's own templates sort them.
const helpTemplate = `gorun starts a program on one host or many and stays until every rank has ended

usage: gorun [flags] program [args…] [: [flags] program [args…]] …   (also: gorun run …)
       gorun help [FLAG | VERB | --man] | version | clean | completion bash|zsh|fish
{{range examples}}
  {{printf "%-40s %s" (index . 0) (index . 1)}}{{end}}

{{description}}
{{$group := ""}}{{range .VisibleFlags}}{{if ne .Category $group}}{{$group = .Category}}
{{$group}}:
{{end}}{{.Entry}}
{{end}}
{{.Description}}
`

// help prints the help on all of gorun, on the flags and verbs that argv names,
// or, with --man, as a manual page, and returns the exit status.
func help(argv []string) int {
	switch {
	case len(argv) == 0:
		return printHelp(os.Stdout)
	case slices.Equal(argv, []string{"--man"}):
		return printed(writeManual(os.Stdout))
	}
	var text strings.Builder
	for _, word := range argv {
		about, err := helpOn(word)
		if err != nil {
			return refuse(newConsole(os.Stderr), err)
		}
		text.WriteString(about)
	}
	_, err := os.Stdout.WriteString(text.String())
	return printed(err)
}

// printHelp writes the help, made from the table of flags, and returns the
// exit status.
func printHelp(to io.Writer) int {
	app := newCommand(nil).app()
	app.Description = exitStatus
	var text bytes.Buffer // the library does not tell whether its writes failed
	cli.HelpPrinterCustom(&text, helpTemplate, app, map[string]any{
		"examples":    func() [][2]string { return examples },
		"description": func() string { return description },
		"wrapAt":      func() int { return helpWidth },
	})
	_, err := text.WriteTo(to)
	return printed(err)
}

// exitStatus tells what gorun exits with.
var exitStatus = fmt.Sprintf(`Exit status: that of the rank that failed first, 128+n for signal n, 0 if all
were 0; %d time limit, %d gorun or a host failed, %d not executable, %d not
found, %d wrong usage. The last line on standard error tells whose status it is.`,
	launcher.StatusTimeout, launcher.StatusFailed, launcher.StatusNotExecutable, launcher.StatusNotFound, launcher.StatusUsage)

// The columns of the help: where explanations begin, and where lines end.
const (
	helpColumn = 34
	helpWidth  = 100
)

// usage returns how the flag is written: "-np -n N".
func (f flag) usage() string {
	var words []string
	for _, name := range f.names {
		words = append(words, spelled(name))
	}
	return strings.TrimRight(strings.Join(words, " ")+" "+f.Value.(*value).args, " ")
}

// Entry returns what the help says of the flag.
func (f flag) Entry() string { return explained(f.usage(), f.Usage) }

// explained puts an explanation beside what is typed, or below it.
func explained(typed, text string) string {
	lines := wrapped(text, helpWidth-helpColumn)
	left := "  " + typed
	if len(left) >= helpColumn {
		lines = append([]string{left}, lines...)
	} else {
		lines[0] = fmt.Sprintf("%-*s%s", helpColumn, left, lines[0])
	}
	return strings.Join(lines, fmt.Sprintf("\n%*s", helpColumn, ""))
}

// wrapped returns the words of a text in lines of at most so many characters,
// where no word is longer.
func wrapped(text string, width int) (lines []string) {
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && utf8.RuneCountInString(line+" "+word) > width {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	return append(lines, line)
}

// helpOn returns what there is to say of one flag, ours or another launcher's,
// or of a verb. Its error is a *usageError.
func helpOn(word string) (string, error) {
	if about := verbHelp(word); about != "" {
		return about, nil
	}
	name := strings.TrimLeft(word, "-")
	if name == "c" {
		return explained("-c N", refusalOfC+": -np N, --cpus-per-rank N") + "\n", nil
	}
	flags := newCommand(nil).flags()
	g := newGrammar(flags)
	found := g.lookup(name)
	if found == nil {
		for _, f := range newCleaning(nil).ownFlags() {
			if f := f.(flag); slices.Contains(f.names, name) {
				return "  of gorun clean:\n" + f.Entry() + "\n", nil
			}
		}
		hint := "gorun help lists the flags"
		if near := g.nearest(name); near != "" {
			hint = "did you mean: gorun help " + spelled(near)
		}
		return "", refusal("help: expected a flag or a verb, found "+word, hint)
	}
	for _, f := range flags {
		if f := f.(flag); f.Name == found.names[0] && !f.Hidden {
			text := f.Entry() + "\n"
			if others := synonyms[f.Name]; len(others) > 0 {
				var also []string
				for _, name := range others {
					also = append(also, spelled(name))
				}
				text += fmt.Sprintf("%*salso written %s\n", helpColumn, "", strings.Join(also, ", "))
			}
			return text + topic(f.Name), nil
		}
	}
	return explained(strings.TrimRight(spelled(name)+" "+found.args, " "), found.meaning()) + "\n" + topic(found.names[0]), nil
}

// topic returns what there is to say of a flag's language, "" if it has none.
func topic(name string) string {
	if topics[name] == "" {
		return ""
	}
	return "\n    " + strings.ReplaceAll(topics[name], "\n", "\n    ") + "\n"
}

// meaning says what a flag is that the table of ours does not have.
func (f *form) meaning() string {
	values := strings.Fields(strings.NewReplacer("[", "", "]", "").Replace(f.args))
	ours, err := f.ours(values)
	if bad, ok := errors.AsType[*valueError](err); ok { // its values are words of a list
		if strings.HasPrefix(bad.example, "--") || strings.HasPrefix(bad.example, python) {
			return "is not a flag of gorun: expected " + bad.want + ", as gorun " + bad.example
		}
		values = strings.Fields(bad.example)
		if ours, err = f.ours(values); err != nil {
			return "is not a flag of gorun: " + bad.Error()
		}
		return fmt.Sprintf("takes %s; with %s it %s", bad.want, strings.Join(values, " "), said(ours))
	}
	if err != nil {
		return "is not a flag of gorun: " + err.Error()
	}
	return said(ours)
}

// said puts what a foreign flag means.
func said(ours []string) string {
	var words []string
	for _, word := range ours {
		if why, found := strings.CutPrefix(word, note); found {
			return "has no effect: " + why
		}
		name, value, _ := strings.Cut(strings.TrimPrefix(word, "--"), "=")
		words = append(words, strings.TrimRight(spelled(name)+" "+value, " "))
	}
	return "is " + strings.Join(words, " ")
}

// printVersion writes which build this is and returns the exit status.
func printVersion(w io.Writer) int {
	version, revision := "(devel)", ""
	if info, ok := debug.ReadBuildInfo(); ok {
		if info.Main.Version != "" {
			version = info.Main.Version
		}
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				revision = " " + s.Value[:min(12, len(s.Value))]
			}
		}
	}
	if _, err := fmt.Fprintf(w, "gorun %s%s %s %s/%s\n", version, revision, runtime.Version(), runtime.GOOS, runtime.GOARCH); err != nil {
		return launcher.StatusFailed
	}
	return 0
}
