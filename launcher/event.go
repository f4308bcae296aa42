package launcher

import (
	"fmt"
	"time"

	"github.com/gorun/gorun/launcher/placement"
)

// Event is one thing that happened to a job. Fields that do not apply are
// zero, Rank is -1.
type Event struct {
	Time    time.Time
	Kind    Kind
	Attempt int // how often the job was restarted before
	Rank    int
	Host    string
	Message string
	Exit    *RankExit       // of RankExited
	Plan    *placement.Plan // of Placed
}

// Kind says what an event is about.
type Kind string

// The kinds of event.
const (
	HostReached Kind = "host-reached"
	HostFailed  Kind = "host-failed"
	HostLost    Kind = "host-lost"
	Placed      Kind = "placed"
	RankStarted Kind = "rank-started"
	RankReady   Kind = "rank-ready" // it has joined the others
	RankExited  Kind = "rank-exited"
	Signalled   Kind = "signalled"
	Stopping    Kind = "stopping"
	Restarting  Kind = "restarting"
	Ended       Kind = "ended"
	Warning     Kind = "warning"
)

// String returns the event as one line for people.
func (e Event) String() string {
	s := string(e.Kind)
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
