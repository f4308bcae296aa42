package launcher

import (
	"fmt"
	"maps"
	"slices"

	"github.com/gorun/gorun/launcher/template"
)

// rlimitNames are the resources whose limits can be set.
var rlimitNames = []string{"core", "memlock", "nofile", "stack"}

// checkPrograms returns what is wrong with how programs are to be started.
func checkPrograms(job *Job) (problems []error) {
	problem := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	for _, name := range slices.Sorted(maps.Keys(job.Rlimits)) {
		if n := job.Rlimits[name]; !slices.Contains(rlimitNames, name) || n < -1 {
			problem("--rlimit: expected a limit of core, memlock, nofile or stack, or -1, found %s=%d", name, n)
		}
	}
	if len(job.Wrap.Command) > 0 && job.Wrap.Command[0] == "" || len(job.Wrap.Command) == 0 && job.Wrap.Ranks != nil {
		problem("--wrap: expected a program, found none")
	}
	for _, app := range job.Apps {
		if app.Umask != nil && (*app.Umask < 0 || *app.Umask > 0o777) {
			problem("--umask: expected 0 to 0777, found %#o", *app.Umask)
		}
		if app.MakeDir && app.Dir == "" {
			problem("--wdir-create: expected a working folder to make, found none")
		}
	}
	if job.Templates {
		for _, text := range templates(job) {
			if err := template.Check(text); err != nil {
				problem("--template: %w", err)
			}
		}
	}
	return problems
}

// templates lists the texts of a job that differ from rank to rank.
func templates(job *Job) []string {
	texts := slices.Concat(job.Wrap.Command, job.Env.Set, job.Env.Prepend, job.Env.Append)
	for _, app := range job.Apps {
		texts = slices.Concat(texts, app.Args, app.Env, []string{app.Dir})
	}
	return texts
}

// check refuses ranks that a job of so many ranks does not have.
func (w Wrap) check(size int) (problems []error) {
	for _, r := range w.Ranks {
		if r < 0 || r >= size {
			problems = append(problems, fmt.Errorf("--wrap-ranks: expected a rank from 0 to %d, found %d", size-1, r))
		}
	}
	return problems
}
