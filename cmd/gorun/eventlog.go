package main

import (
	"encoding/json"
	"io"
	"os"
	"strings"

	"github.com/gorun/gorun/launcher"
)

// eventLog writes a job's events as lines of JSON. The nil eventLog writes
// none.
type eventLog struct {
	con    *console
	file   io.WriteCloser // nil: standard error
	broken bool
}

// openEventLog opens the log of --events: a file, "-" for standard error, ""
// for none.
func openEventLog(con *console, path string) (*eventLog, error) {
	switch path {
	case "":
		return nil, nil
	case "-":
		return &eventLog{con: con}, nil
	}
	f, err := os.Create(path)
	if err != nil {
		return nil, refusal("--events: "+err.Error(), "give a path that can be written, or - for standard error")
	}
	return &eventLog{con: con, file: f}, nil
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
		_, err = io.WriteString(l.file, line.String())
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
