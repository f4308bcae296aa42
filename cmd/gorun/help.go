package main

import (
	"bufio"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/gorun/gorun/launcher"
)

// printHelp writes the help, made from the table of flags, and returns the
// exit status.
func printHelp(to io.Writer) int {
	w := bufio.NewWriter(to)
	fmt.Fprint(w, `gorun starts a program on one host or many and stays until every rank has ended

usage: gorun [flags] program [args…]       (also: gorun run …)
       gorun version | help

  gorun -np 4 ./train -epochs 3            four ranks on this host
  gorun -hostfile hosts -ppn 8 ./train     eight ranks on each host of a file
  gorun -H a:2,b:2 --display-map ./train   two hosts, and where the ranks go

The first word that is not a flag is the program, and all behind it is the
program's. One dash or two make no difference, -np 4 or -np=4 neither.
`)
	const column = 34 // where the explanations begin
	var coming []string
	for _, group := range flagGroups {
		fmt.Fprintf(w, "\n%s:\n", group.title)
		for _, f := range group.flags {
			if f.set == nil {
				coming = append(coming, spelled(f.names[0]))
			}
			if f.about == "" {
				continue
			}
			names := make([]string, len(f.names))
			for i, name := range f.names {
				names[i] = spelled(name)
			}
			left := "  " + strings.TrimRight(strings.Join(names, " ")+" "+f.args, " ")
			if len(left) >= column {
				fmt.Fprintf(w, "%s\n%*s%s\n", left, column, "", f.about)
			} else {
				fmt.Fprintf(w, "%-*s%s\n", column, left, f.about)
			}
		}
	}
	fmt.Fprintf(w, `
Exit status: that of the rank that failed first, 128+n for signal n, 0 if all
were 0; %d time limit, %d gorun or a host failed, %d not executable, %d not
found, %d wrong usage. The last line on standard error tells whose status it is.

Reserved, not built yet: %s
`, launcher.StatusTimeout, launcher.StatusFailed, launcher.StatusNotExecutable, launcher.StatusNotFound,
		launcher.StatusUsage, wrapped(coming, 25, 78))
	if w.Flush() != nil {
		return launcher.StatusFailed
	}
	return 0
}

// wrapped joins words with spaces and breaks lines before width, the first of
// which begins at column at.
func wrapped(words []string, at, width int) string {
	var b strings.Builder
	for i, word := range words {
		switch {
		case i == 0:
		case at+1+len(word) > width:
			b.WriteString("\n  ")
			at = 2
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at += len(word)
	}
	return b.String()
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
