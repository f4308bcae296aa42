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
		say("%s", f.roff())
		if text := topics[f.Name]; text != "" {
			say("%s", verbatim(text))
		}
	}
	say(".SH RANKFILES\n%s", verbatim(topics["rankfile"]))
	say(".SH CLEAN\n.B gorun clean\n[flags] [job\\&...]")
	for paragraph := range strings.SplitSeq(cleanDescription, "\n\n") {
		say(".PP\n%s", roff(paragraph))
	}
	for _, f := range newCleaning(nil).ownFlags() {
		say("%s", f.(flag).roff())
	}
	say(".PP\nBeside these it takes the flags of a job that say which hosts are meant and how they are reached.")
	say(".PP\n%s", roff(cleanStatus))
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

// roff is the entry of a flag.
func (f flag) roff() string {
	args := ""
	if a := f.Value.(*value).args; a != "" {
		args = ` \fI` + roff(a) + `\fP`
	}
	var names []string
	for _, name := range f.names {
		names = append(names, `\fB`+roff(spelled(name))+`\fP`)
	}
	return fmt.Sprintf(".TP\n%s%s\n%s", strings.Join(names, ", "), args, roff(f.Usage))
}

// verbatim is text whose lines stay as they are, below what stands before it.
func verbatim(text string) string { return ".RS\n.PP\n.nf\n" + roff(text) + "\n.fi\n.RE" }

// variables are those that gorun reads and that ranks get, for the manual.
var variables = [][2]string{
	{"GORUN_HOSTFILE", "the file of hosts, if neither -hostfile nor -H is given; see -H"},
	{"MPIEXEC_TIMEOUT", "the time limit in seconds, if --timeout is not given"},
	{"GORUN_RANK, GORUN_SIZE, GORUN_LOCAL_RANK, GORUN_LOCAL_SIZE, GORUN_NODE, GORUN_NODES",
		"what each rank is told of its place, beside the variables of torch, Open MPI and others; --env-compat chooses"},
	{"PYTHONUNBUFFERED, OMP_NUM_THREADS", "what ranks get unless the user sets or unsets it: 1, and the number of the rank's CPUs"},
}

// roff writes text so that nothing in it is a request or an escape.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "\n.", "\n\\&.", "\n'", "\n\\&'", "…", `\&...`).Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	return text
}
