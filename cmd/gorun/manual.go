package main

import (
	"fmt"
	"io"
	"strings"
)

// writeManual writes the help as a manual page in the language of man(7).
func writeManual(w io.Writer) error {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	say(`.TH GORUN 1`)
	say(`.SH NAME`)
	say(`gorun \- run a program on one host or many, as mpirun does`)
	say(`.SH SYNOPSIS`)
	say(`.B gorun`)
	say(`[flags] program [args\&...] [: [flags] program [args\&...]] \&...`)
	say(`.SH DESCRIPTION`)
	for paragraph := range strings.SplitSeq(description, "\n\n") {
		say(".PP\n%s", roff(paragraph))
	}
	group := ""
	for _, f := range newCommand(nil).flags() {
		f := f.(flag)
		if f.Hidden {
			continue
		}
		if f.Category != group {
			group = f.Category
			say(".SH %s", roff(strings.ToUpper(group)))
		}
		args := ""
		if a := f.Value.(*value).args; a != "" {
			args = ` \fI` + roff(a) + `\fP`
		}
		var names []string
		for _, name := range f.names {
			names = append(names, `\fB`+roff(spelled(name))+`\fP`)
		}
		say(".TP\n%s%s\n%s", strings.Join(names, ", "), args, roff(f.Usage))
	}
	say(`.SH EXAMPLES`)
	for _, example := range examples {
		say(".TP\n.B %s\n%s", roff(example[0]), roff(example[1]))
	}
	say(`.SH ENVIRONMENT`)
	for _, variable := range variables {
		say(".TP\n.B %s\n%s", roff(variable[0]), roff(variable[1]))
	}
	say(".SH EXIT STATUS\n%s", roff(strings.TrimPrefix(exitStatus, "Exit status: ")))
	say(".SH SEE ALSO\n.BR ssh (1),\n.BR ssh_config (5)")
	_, err := io.WriteString(w, b.String())
	return err
}

// variables are those that gorun reads and that ranks get, for the manual.
var variables = [][2]string{
	{"GORUN_HOSTFILE", "the file of hosts, if neither -hostfile nor -H is given"},
	{"MPIEXEC_TIMEOUT", "the time limit in seconds, if --timeout is not given"},
	{"GORUN_RANK, GORUN_SIZE, GORUN_LOCAL_RANK, GORUN_LOCAL_SIZE, GORUN_NODE, GORUN_NODES",
		"what each rank is told of its place, beside the variables of torch, Open MPI and others; --env-compat chooses"},
}

// roff writes text so that nothing in it is a request or an escape.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "\n.", "\n\\&.", "\n'", "\n\\&'", "…", `\&...`).Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	return text
}
