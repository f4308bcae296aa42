//go:build linux

package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/gorun/gorun/launcher/template"
	"github.com/gorun/gorun/launcher/wire"
	"github.com/gorun/gorun/rankenv"
)

// program is what is started for a rank of this host, or for several.
type program struct {
	path string   // of the app's program or, if another part is missing, of that
	part string   // what path is, as wire.NotStarted has it
	exec string   // of what is executed: path, what wraps it, or what gives it its limits
	argv []string // of exec
	dir  string
	env  []string // all but what differs from rank to rank

	mpi         string // the library that it is linked with and by which it will ask for its place; "": none
	inheritsPMI bool   // its ranks get a connection by PMI_FD, if PMI is served
}

// world is the place of the rank with a local number.
func (a *agent) world(local int) rankenv.World {
	w := a.hostWorld
	w.Rank, w.LocalRank = a.host().Ranks[local], local
	w.GPUs = a.seat(local).GPUs
	return w
}

// preparePrograms finds what each rank of this host will run, by local rank,
// or says what is wrong. Ranks share a program unless something of theirs
// differs.
func (a *agent) preparePrograms() ([]*program, *wire.NotStarted) {
	host := hostEnv(os.Environ(), a.start)
	limits, problem := a.grantLimits()
	if problem != nil {
		return nil, problem
	}
	type kind struct {
		app, rank int // rank -1: any
		wrapped   bool
	}
	appOf := a.appOf()
	found := map[kind]*program{}
	programs := make([]*program, len(a.host().Ranks))
	for local := range programs {
		w := a.world(local)
		app := a.start.Apps[appOf[w.Rank]]
		k := kind{app: appOf[w.Rank], rank: -1, wrapped: wraps(app, w.Rank)}
		if app.Templates {
			k.rank = w.Rank
		}
		if found[k] == nil {
			if !k.wrapped {
				app.Wrap = nil
			}
			p, err := a.prepare(app, w, host, limits)
			if err != nil {
				return nil, refused(w.Rank, p, err)
			}
			found[k] = p
		}
		programs[local] = found[k]
	}
	return programs, nil
}

// appOf returns which app each rank runs.
func (a *agent) appOf() map[int]int {
	appOf := map[int]int{}
	for i, app := range a.start.Apps {
		for _, r := range app.Ranks {
			appOf[r] = i
		}
	}
	return appOf
}

// wraps tells whether a rank of app is started behind another program.
func wraps(app wire.App, rank int) bool {
	return len(app.Wrap) > 0 && (len(app.Wrapped) == 0 || slices.Contains(app.Wrapped, rank))
}

// prepare finds the folder and the program of an app for a rank. Where it
// fails, the program has the path of what is wrong and says which part that is.
func (a *agent) prepare(app wire.App, w rankenv.World, host map[string]string, limits []limit) (p *program, err error) {
	p = &program{path: app.Args[0], part: wire.PartProgram}
	if app.Templates {
		if app, err = fillApp(app, w); err != nil {
			return p, err
		}
	}
	if p.dir, err = a.workingFolder(app, host); err != nil {
		p.path, p.part = p.dir, wire.PartFolder
		if path, ok := errors.AsType[*fs.PathError](err); ok {
			err = path.Err
		}
		return p, fmt.Errorf("working folder: %w", err)
	}
	p.env = composeEnv(a.start, app, host, p.dir)
	search := lookupEnv(p.env, "PATH")
	p.path = app.Args[0]
	if app.Staged != "" {
		if p.path = a.files.path(app.Staged); p.path == "" {
			return p, errors.New("it was not staged")
		}
	} else if path, err := findProgram(p.path, p.dir, search); err != nil {
		if errors.Is(err, errNotInPath) && executable(filepath.Join(p.dir, p.path)) == nil {
			err = &hintedError{err, fmt.Sprintf("%s has a program of that name in %s: write ./%s", w.Host, p.dir, p.path)}
		}
		return p, err
	} else {
		p.path = path
	}
	if err := a.serveMPI(p); err != nil {
		return p, err
	}
	p.inheritsPMI = p.inheritsPMI && len(app.Wrap) == 0
	p.exec, p.argv = p.path, app.Args
	if len(app.Wrap) > 0 {
		if p.exec, err = findProgram(app.Wrap[0], p.dir, search); err != nil {
			p.path, p.part = app.Wrap[0], wire.PartWrapper
			return p, &hintedError{err, "it is what --wrap puts before the program"}
		}
		p.argv = slices.Concat(app.Wrap, []string{p.path}, app.Args[1:])
	}
	if len(limits) > 0 || app.Umask >= 0 {
		p.argv = execArgs(app.Umask, limits, p.exec, p.argv)
		p.exec = "/proc/self/exe"
	}
	return p, nil
}

// fillApp returns app as it is for a rank.
func fillApp(app wire.App, w rankenv.World) (wire.App, error) {
	var errs []error
	fill := func(s string) string {
		filled, err := template.Fill(s, w)
		errs = append(errs, err)
		return filled
	}
	for _, list := range []*[]string{&app.Args, &app.Env, &app.Prepend, &app.Append, &app.Wrap} {
		*list = slices.Clone(*list)
		for i := range *list {
			(*list)[i] = fill((*list)[i])
		}
	}
	app.Dir = fill(app.Dir)
	return app, errors.Join(errs...)
}

// workingFolder returns the folder in which an app's ranks start.
func (a *agent) workingFolder(app wire.App, host map[string]string) (string, error) {
	err := folderExists(app.Dir)
	if app.MakeDir && errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(app.Dir, 0o777); err == nil {
			err = folderExists(app.Dir)
		}
	}
	if err == nil || !app.DirHint {
		return app.Dir, err
	}
	dir := host["HOME"]
	if folderExists(dir) != nil {
		dir = "/"
	}
	missing := "there is no folder " + app.Dir
	if app.Dir == "" {
		missing = "the working folder of gorun is gone"
	}
	a.conn.Send(&wire.Notice{Text: missing + ", so ranks start in " + dir})
	return dir, nil
}

// hintedError is an error with something to do about it.
type hintedError struct {
	error
	hint string
}

func (e *hintedError) Unwrap() error { return e.error }

// refused tells the launcher why nothing is started here.
func refused(rank int, p *program, err error) *wire.NotStarted {
	m := &wire.NotStarted{
		Rank: rank, Path: p.path, Part: p.part, Error: reason(err),
		Missing: errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNotInPath),
	}
	if hinted, ok := errors.AsType[*hintedError](err); ok {
		m.Hint = hinted.hint
	}
	return m
}

// reason drops what the message that carries it says anyway: the path.
func reason(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err.Error()
	}
	return err.Error()
}
