package main

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"time"

	"github.com/gorun/gorun/launcher"
)

// eventLog writes a job's events as lines of JSON. The nil eventLog writes
// none.
type eventLog struct {
	con    *console
	file   *os.File      // nil: standard error
	waited time.Duration // for the reader, in all
	broken bool
}

// eventPatience is how long a reader of events may hold up the job, in all: what it
// does not take by then, it does not get, and nothing after.
const eventPatience = 2 * time.Second

// openEventLog opens the log of --events: a file, "-" for standard error, ""
// for none.
func openEventLog(con *console, path string) (*eventLog, error) {
	switch path {
	case "":
		return nil, nil
	case "-":
		return &eventLog{con: con}, nil
	}
	f, err := createEventFile(path)
	switch {
	case errors.Is(err, errNoReader):
		return nil, refusal("--events: "+err.Error(), "start its reader first: cat "+quoted(path)+" & gorun --events "+quoted(path)+" …")
	case err != nil:
		return nil, refusal("--events: "+err.Error(), "give a path that can be written, or - for standard error")
	}
	return &eventLog{con: con, file: f}, nil
}

func createEventFile(path string) (*os.File, error) {
	if info, err := os.Stat(path); err == nil && !info.IsDir() && !info.Mode().IsRegular() {
		return openUnwaiting(path)
	}
	return os.Create(path)
}

// write adds an event. A log that cannot be written is no reason to end a job:
// the user is told once.
func (l *eventLog) write(ev launcher.Event) {
	if l == nil || l.broken {
		return
	}
	var line strings.Builder
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	err := enc.Encode(ev)
	switch {
	case err != nil:
	case l.file == nil:
		l.con.say("%s", strings.TrimSuffix(line.String(), "\n"))
	default:
		begun := time.Now()
		l.file.SetWriteDeadline(begun.Add(eventPatience - l.waited)) // regular files have none, and need none
		_, err = l.file.WriteString(line.String())
		l.waited += time.Since(begun)
	}
	l.check(err)
}

func (l *eventLog) check(err error) {
	if err != nil && !l.broken {
		l.broken = true
		l.con.note("warning: --events: no more events are written: %v", err)
	}
}

func (l *eventLog) close() {
	if l != nil && l.file != nil {
		l.check(l.file.Close())
	}
}
