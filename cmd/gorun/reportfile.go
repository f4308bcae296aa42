package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/gorun/gorun/launcher"
)

// jobReport is what --report-file writes: one JSON object.
type jobReport struct {
	Job      string              `json:"job"`
	Status   int                 `json:"status"`
	Origin   string              `json:"origin,omitempty"` // of a status other than 0: "rank" or "gorun"
	Error    string              `json:"error,omitempty"`
	Elapsed  float64             `json:"elapsed"` // seconds
	Restarts int                 `json:"restarts"`
	First    *launcher.RankExit  `json:"first,omitempty"` // the failure that decided
	Ranks    []launcher.RankExit `json:"ranks"`           // of the last attempt
}

func newJobReport(result *launcher.Result, err error) jobReport {
	r := jobReport{
		Job: result.Job, Status: launcher.ExitStatus(err),
		Elapsed: result.Elapsed.Seconds(), Restarts: result.Restarts,
		First: result.First, Ranks: result.Ranks,
	}
	if r.Ranks == nil {
		r.Ranks = []launcher.RankExit{}
	}
	if err != nil {
		r.Origin, r.Error = origin(err), err.Error()
	}
	return r
}

// checkReportFile refuses a path that could not be written at the end: the
// report of a job that ran for a week must not be lost to a typing error.
func checkReportFile(path string) error {
	if path == "" {
		return nil
	}
	// What is not a regular file is only looked at: a pipe's reader would take
	// an opening and closing for all of the report.
	info, err := os.Stat(path)
	if err == nil && !info.IsDir() && !info.Mode().IsRegular() {
		err = os.NewSyscallError("access", unix.Access(path, unix.W_OK))
	} else {
		var f report
		if f, err = createReport(path); err == nil {
			err = f.discard()
		}
	}
	if err != nil {
		return refusal("--report-file: "+err.Error(), "give a path in a folder that exists and can be written")
	}
	return nil
}

// writeReportFile writes the report of a job that has ended. Who reads the path
// sees an old report or the new one, never a part.
func writeReportFile(path string, report jobReport) error {
	f, err := createReport(path)
	if err != nil {
		return err
	}
	enc := json.NewEncoder(f)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(report); err != nil {
		f.discard()
		return err
	}
	return f.publish()
}

// openUnwaiting opens what is not a regular file to write. A pipe that nobody reads
// is an error, where it would keep other opens waiting.
func openUnwaiting(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0)
	if info, statErr := os.Stat(path); errors.Is(err, syscall.ENXIO) && statErr == nil && info.Mode()&fs.ModeNamedPipe != 0 { // fifo(7); a socket says so too
		err = &fs.PathError{Op: "open", Path: path, Err: errNoReader}
	}
	return f, err
}

var errNoReader = errors.New("a pipe that nobody reads")

// reportRefusal writes the report of a job that was refused: an old one would be
// taken for its own.
func reportRefusal(con *console, path string, err error) {
	if path == "" {
		return
	}
	report := jobReport{Status: launcher.StatusUsage, Origin: "gorun", Error: err.Error(), Ranks: []launcher.RankExit{}}
	if err := writeReportFile(path, report); err != nil {
		con.note("warning: --report-file: %v", err)
	}
}

// reportFileOf returns the path of --report-file in a command line that was
// refused, as far as it can be told from what is the program's.
func reportFileOf(argv []string) (path string) {
	g := newGrammar(newCommand(nil).flags())
	for i := 0; i < len(argv) && len(argv[i]) >= 2 && argv[i][0] == '-' && argv[i] != "--"; i++ {
		name, value, joined := strings.Cut(strings.TrimPrefix(argv[i][1:], "-"), "=")
		glued, _ := g.digitsBehindName(name)
		f := g.lookup(name)
		switch {
		case joined || glued != "":
		case f == nil:
			if f = g.lookup(g.nearest(name)); f == nil {
				return path // whether a value follows is not known
			}
			fallthrough
		default:
			next := ""
			if i+1 < len(argv) {
				next = argv[i+1]
			}
			if i += f.arity(next); f.arity(next) == 1 && i < len(argv) {
				value = argv[i]
			}
		}
		if f != nil && f.names[0] == "report-file" && value != "" && value[0] != '-' {
			path = value
		}
	}
	return path
}

// report is a file in the making, beside the one whose place it will take.
// What is not a regular file, such as a pipe, is written itself.
type report struct {
	*os.File
	path string // to become; "": it is what it is
}

func createReport(path string) (report, error) {
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return report{}, fmt.Errorf("%s: expected a file, found a folder", path)
	case err == nil && !info.Mode().IsRegular():
		f, err := openUnwaiting(path)
		return report{f, ""}, err
	case err == nil: // through links, which stay
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return report{}, err
		}
	}
	// os.CreateTemp would leave out what the user's umask allows others.
	f, err := os.OpenFile(fmt.Sprintf("%s.%d.tmp", path, os.Getpid()), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		e.Path = path // the user knows of no other
	}
	return report{f, path}, err
}

func (r report) publish() error {
	err := r.Close()
	if r.path == "" || err != nil {
		return err
	}
	return os.Rename(r.Name(), r.path)
}

func (r report) discard() error {
	err := r.Close()
	if r.path == "" || err != nil {
		return err
	}
	return os.Remove(r.Name())
}
