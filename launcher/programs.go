package launcher

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/gorun/gorun/launcher/template"
	"github.com/gorun/gorun/launcher/wire"
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

// apps returns the job's programs as agents are told of them.
func (l *launch) apps() []wire.App {
	apps := make([]wire.App, len(l.job.Apps))
	for i, app := range l.job.Apps {
		a := wire.App{
			Args: app.Args, Env: slices.Concat(l.job.Env.Set, app.Env),
			Prepend: l.job.Env.Prepend, Append: l.job.Env.Append,
			Wrap: l.job.Wrap.Command, Wrapped: l.job.Wrap.Ranks,
			Dir: app.Dir, MakeDir: app.MakeDir, Umask: -1, Templates: l.job.Templates,
		}
		if app.Umask != nil {
			a.Umask = *app.Umask
		}
		if app.Dir == "" {
			a.Dir, _ = os.Getwd() // it may have been removed
			a.DirHint = !l.job.Strict
		} else if dir, err := filepath.Abs(app.Dir); err == nil {
			a.Dir = dir
		}
		if l.job.Stage {
			a.Staged = l.reacher.programs[i]
		}
		apps[i] = a
	}
	for r := range l.plan.Size {
		app := &apps[l.plan.Seat(r).App]
		app.Ranks = append(app.Ranks, r)
	}
	return apps
}

// rlimits returns limits as agents are told of them.
func rlimits(limits map[string]int64) []wire.Rlimit {
	var list []wire.Rlimit
	for _, name := range slices.Sorted(maps.Keys(limits)) {
		list = append(list, wire.Rlimit{Name: name, N: limits[name]})
	}
	return list
}
