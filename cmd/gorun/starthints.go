package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gorun/gorun/hostfiles"
	"github.com/gorun/gorun/launcher"
	"github.com/gorun/gorun/launcher/remote"
)

// startHints tells how to name a program that was not found, or how to make a
// program of a file. What lies here under that name tells most.
func (c *command) startHints(e *launcher.StartError) (hints []string) {
	if e.Hint != "" {
		hints = strings.Split(e.Hint, "\n")
	}
	index := appOf(c.job.Apps, e.Rank)
	app := c.job.Apps[index]
	switch e.Part {
	case launcher.PartFolder:
		return append(hints, c.folderHints(e, index)...)
	case launcher.PartWrapper:
		if e.Missing && !strings.ContainsRune(e.Program, filepath.Separator) {
			hints = append(hints, "where it is looked for: "+c.probe(index, "sh", "-c", "echo $PATH"))
		}
		return hints
	case launcher.PartInterpreter:
		return hints
	}
	program := app.Args[0]
	if e.Missing && index == 0 && c.appFile == "" {
		begin := c.programs[0].begin
		asVerb := func(verb string) string {
			return commandLine(slices.Concat([]string{verb}, c.argv[:begin], c.argv[begin+1:]))
		}
		switch near := nearestVerb(program); {
		case near == program:
			return []string{"a verb is the first word: " + asVerb(near)}
		case near != "":
			hints = append(hints, "did you mean: "+asVerb(near))
		}
	}
	if words := strings.Fields(program); e.Missing && len(words) > 1 {
		p := c.programs[index]
		return append(hints, "it is one word with a blank in it; as a program and what it gets: "+p.line.with(p.begin, 1, words...))
	}
	away := c.away()
	file := program
	if !away && !c.job.Stage && !filepath.IsAbs(program) {
		file = filepath.Join(app.Dir, program)
	}
	info, err := os.Stat(file)
	here := err == nil && info.Mode().IsRegular()
	toStage := away && !c.job.Stage
	switch bare := !strings.ContainsRune(program, filepath.Separator); {
	case e.Missing && bare && here:
		p := c.programs[index]
		switch {
		case !toStage:
			hints = append(hints, p.called("./"+program))
		case c.appFile != "":
			hints = append(hints, p.called("./"+program), "and beside --app: --stage")
		default:
			hints = append(hints, commandLine(withFlag(replaced(c.argv, p.begin, 1, "./"+program), "stage")))
		}
	case e.Missing && toStage && (here || bare && inPath(program)):
		hints = append(hints, "it is here; to copy it to the hosts: "+c.withFlag("stage"))
		if bare {
			hints = append(hints, "where ranks look: "+c.probe(index, "sh", "-c", "echo $PATH"))
		}
	case e.Missing && bare && len(hints) == 0:
		hints = append(hints, "where ranks look: "+c.probe(index, "sh", "-c", "echo $PATH"))
	case e.Missing && len(hints) == 0 && filepath.IsAbs(program):
		hints = append(hints, "what is there: "+c.probe(index, "ls", "-l", filepath.Dir(program)))
	case e.Missing && len(hints) == 0:
		hints = append(hints, "where ranks start: "+c.probe(index, "pwd")+"; elsewhere: "+c.programs[index].withFlag("wdir", "DIR"))
	case !e.Missing && here && info.Mode()&0o111 == 0:
		hints = append(hints, "chmod +x "+quoted(program))
	}
	return hints
}

// away reports whether the job has hosts that are not this one.
func (c *command) away() bool {
	return slices.ContainsFunc(c.job.Hosts, func(h hostfiles.Host) bool {
		return c.job.Local == "never" || !remote.IsLocal(h)
	})
}

func inPath(program string) bool {
	_, err := exec.LookPath(program)
	return err == nil
}

// folderHints tells how to come to the working folder of a program.
func (c *command) folderHints(e *launcher.StartError, index int) []string {
	dir := e.Program
	if hints := homeHints(c.programs[index].dir); hints != nil {
		return hints
	}
	info, err := os.Stat(dir)
	switch {
	case e.Missing:
		return []string{
			fmt.Sprintf("on %s: mkdir -p %s", e.Host, quoted(dir)),
			"on all hosts: " + c.programs[index].withFlag("wdir-create"),
		}
	case err == nil && !info.IsDir():
		return []string{"it is a file; the folder that it is in: " + c.programs[index].withFlag("wdir", filepath.Dir(dir))}
	}
	return []string{"another folder: " + c.programs[index].withFlag("wdir", "DIR")}
}
