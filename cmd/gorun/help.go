package main

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/gorun/gorun/launcher"
)

// helpTemplate is what the library prints as help. It keeps the flags in the
// order of their table, where the library's own templates sort them.
const helpTemplate = `gorun starts a program on one host or many and stays until every rank has ended

usage: gorun [flags] program [args…] [: [flags] program [args…]] …   (also: gorun run …)
       gorun version | help

  gorun -np 4 ./train -epochs 3            four ranks on this host
  gorun -hostfile hosts -ppn 8 ./train     eight ranks on each host of a file
  gorun -H a:2,b:2 --display-map ./train   two hosts, and where the ranks go
  gorun -np 1 ./server : -np 7 ./worker    two programs in one job

The first word that is not a flag is the program, and all behind it is the
program's. One dash or two make no difference, -np 4 or -np=4 neither. A host
whose slots are not declared has one for each GPU, or else for each core that
ranks may use there: gorun -H localhost hostname starts as many, unless -np says
otherwise. Of several programs, ":" between them, each has its own -np, -wdir and
-x; other flags stand before the first. Behind "--" a ":" is the program's.
{{$group := ""}}{{range .VisibleFlags}}{{if ne .Category $group}}{{$group = .Category}}
{{$group}}:
{{end}}{{.}}
{{end}}
{{.Description}}

{{wrap reserved 2}}
`

// printHelp writes the help, made from the table of flags, and returns the
// exit status.
func printHelp(to io.Writer) int {
	app := newCommand(nil).app()
	app.Description = fmt.Sprintf(`Exit status: that of the rank that failed first, 128+n for signal n, 0 if all
were 0; %d time limit, %d gorun or a host failed, %d not executable, %d not
found, %d wrong usage. The last line on standard error tells whose status it is.`,
		launcher.StatusTimeout, launcher.StatusFailed, launcher.StatusNotExecutable, launcher.StatusNotFound, launcher.StatusUsage)
	var text bytes.Buffer // the library does not tell whether its writes failed
	cli.HelpPrinterCustom(&text, helpTemplate, app, map[string]any{
		"reserved": reservedLine,
		"wrapAt":   func() int { return 80 },
	})
	if _, err := text.WriteTo(to); err != nil {
		return launcher.StatusFailed
	}
	return 0
}

// String returns what the help says of the flag.
func (f flag) String() string {
	const column = 34 // where the explanations begin
	left := " "
	for _, name := range f.names {
		left += " " + spelled(name)
	}
	left = strings.TrimRight(left+" "+f.Value.(*value).args, " ")
	if len(left) >= column {
		return fmt.Sprintf("%s\n%*s%s", left, column, "", f.Usage)
	}
	return fmt.Sprintf("%-*s%s", column, left, f.Usage)
}

// reservedLine returns what the help says of the flags that are to come.
func reservedLine() string {
	line := "Reserved, not built yet:"
	for _, usage := range reserved {
		line += " " + spelled(strings.Fields(usage)[0])
	}
	return line
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
