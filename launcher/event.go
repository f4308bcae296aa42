package launcher

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/gorun/gorun/launcher/placement"
)

// Event is one thing that happened to a job. As JSON it is an object on a line
// of its own; docs/events.md describes it.
type Event struct {
	Time    time.Time       `json:"time"`
	Kind    Kind            `json:"kind"`
	Attempt int             `json:"attempt"`           // how often the job was restarted before
	Rank    int             `json:"rank"`              // -1: it is about no single rank
	Host    string          `json:"host,omitempty"`    // "": about no single host
	Message string          `json:"message,omitempty"` // for people
	Exit    *RankExit       `json:"exit,omitempty"`    // of RankExited
	Plan    *placement.Plan `json:"-"`                 // of Placed
}

// Kind says what an event is about.
type Kind string

// The kinds of event.
const (
	HostReaching  Kind = "host-reaching"  // its agent is being started
	HostUploading Kind = "host-uploading" // it is sent programs and files
	HostReached   Kind = "host-reached"
	HostFailed    Kind = "host-failed"    // it could not be reached, or is not fit
	HostSuspected Kind = "host-suspected" // it does not answer the other hosts
	HostLost      Kind = "host-lost"
	Waiting       Kind = "waiting" // for hosts, or ranks that were told to end, that take their time
	Placed        Kind = "placed"
	RankStarted   Kind = "rank-started"
	RankReady     Kind = "rank-ready" // it has joined the others
	RankExited    Kind = "rank-exited"
	Signalled     Kind = "signalled"
	StackTrace    Kind = "stack-trace" // where a process of the rank is, in the lines of Message
	Paused        Kind = "paused"      // by TSTP, until Resumed
	Resumed       Kind = "resumed"
	Stopping      Kind = "stopping"
	Restarting    Kind = "restarting"
	Ended         Kind = "ended"
	Warning       Kind = "warning"
)

// String returns the event as one line for people.
func (e Event) String() string {
	s := string(e.Kind)
	if e.Kind == Warning && (e.Host != "" || e.Rank >= 0) {
		s += ":" // as without either
	}
	if e.Host != "" {
		s += " " + e.Host
	}
	if e.Rank >= 0 {
		s += fmt.Sprintf(" rank %d", e.Rank)
	}
	if e.Message != "" {
		s += ": " + e.Message
	}
	return s
}

// maxEvent bounds a line of JSON. The longest that is written has the last
// lines of a rank in it, and is far below.
const maxEvent = 1 << 20

// ReadEvents reads events that were written as lines of JSON. It ends with r,
// or with the first error, which names the line.
func ReadEvents(r io.Reader) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		lines := bufio.NewScanner(r)
		lines.Buffer(nil, maxEvent)
		n := 0
		for lines.Scan() {
			n++
			e, err := readEvent(lines.Bytes())
			if err != nil {
				yield(Event{}, fmt.Errorf("line %d: %w", n, err))
				return
			}
			if !yield(e, nil) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield(Event{}, fmt.Errorf("line %d: %w", n+1, err))
		}
	}
}

func readEvent(line []byte) (Event, error) {
	e := Event{Rank: -1}
	if err := json.Unmarshal(line, &e); err != nil {
		return Event{}, fmt.Errorf("not an event: %w", err)
	}
	if e.Kind == "" {
		return Event{}, errors.New("not an event: it has no kind")
	}
	return e, nil
}

// event tells the caller of what happened in this attempt.
func (a *attempt) event(e Event) {
	e.Attempt = a.number
	a.prepared.event(e)
}

// event tells the caller. Events come one at a time: reaching hosts holds a
// lock, and everything after is one goroutine's.
func (p *prepared) event(e Event) {
	if p.job.Events != nil {
		e.Time = p.time()
		p.job.Events(e)
	}
}
