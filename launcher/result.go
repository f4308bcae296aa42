package launcher

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gorun/gorun/launcher/wire"
)

// Result says how a job ended.
type Result struct {
	Job      string     // its id
	First    *RankExit  // the failure that decided, nil if none
	Ranks    []RankExit // of the last attempt, by rank; those that never started are missing
	Elapsed  time.Duration
	Status   int // what the command exits with
	Restarts int // attempts that failed before the last
}

// RankExit is the end of one rank.
type RankExit struct {
	Rank    int       `json:"rank"`
	Code    int       `json:"code"` // exit status; -1: killed by Signal, or lost with Host
	Host    string    `json:"host"`
	Signal  string    `json:"signal,omitempty"`  // "SIGKILL"; "": none
	Cause   string    `json:"cause,omitempty"`   // what probably ended it, for people; "": nothing known
	Stopped bool      `json:"stopped,omitempty"` // it was told to end before it did
	Tail    []byte    `json:"tail,omitempty"`    // last lines of its standard error, at most 4 KiB; text in JSON
	At      time.Time `json:"at"`                // by the launcher's clock
}

// MarshalJSON writes Tail as text. What in it is not UTF-8 is replaced.
func (e RankExit) MarshalJSON() ([]byte, error) {
	return json.Marshal(rankExitText{plainRankExit(e), string(e.Tail)})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (e *RankExit) UnmarshalJSON(b []byte) error {
	var text rankExitText
	if err := json.Unmarshal(b, &text); err != nil {
		return err
	}
	*e = RankExit(text.plainRankExit)
	if text.Tail != "" {
		e.Tail = []byte(text.Tail)
	}
	return nil
}

// rankExitText is the JSON form of a RankExit: its Tail hides the other.
type rankExitText struct {
	plainRankExit
	Tail string `json:"tail,omitempty"`
}

type plainRankExit RankExit // without methods

// Status returns what a shell would report: the code, or 128 plus the signal.
func (e RankExit) Status() int {
	if e.Code >= 0 {
		return e.Code
	}
	return 128 + signalNumber(e.Signal)
}

// String returns "rank 3 on node1 exited with status 2".
func (e RankExit) String() string {
	return fmt.Sprintf("rank %d on %s %s", e.Rank, e.Host, e.end())
}

// end returns "exited with status 2".
func (e RankExit) end() string {
	switch {
	case e.Signal != "":
		return "was killed by " + e.Signal
	case e.Code < 0:
		return "was lost with its host"
	}
	return fmt.Sprintf("exited with status %d", e.Code)
}

// ExitError is the error of a job whose first failure was a rank's.
type ExitError struct{ RankExit }

func (e *ExitError) Error() string { return e.RankExit.String() }

// StartError is the error of a job one of whose programs could not be started.
type StartError struct {
	Host    string
	Rank    int
	Program string // or the folder or wrapper, if that is what Part says
	Part    string // what could not be used, one of the constants
	Missing bool   // not found, rather than not executable
	Err     error
	Hint    string // something to do; "": none
}

// What the start of a program needs, as StartError has it.
const (
	PartProgram     = wire.PartProgram
	PartInterpreter = wire.PartInterpreter // of a script, or the dynamic loader
	PartFolder      = wire.PartFolder      // the working folder
	PartWrapper     = wire.PartWrapper     // the program of Wrap
)

func (e *StartError) Error() string {
	return fmt.Sprintf("%s: rank %d: %s: %v", e.Host, e.Rank, e.Program, e.Err)
}

func (e *StartError) Unwrap() error { return e.Err }

// PlanError is the error of a job that cannot be placed, or asks for what
// cannot be had. Nothing was started.
type PlanError struct{ Problems []error }

func (e *PlanError) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

func (e *PlanError) Unwrap() []error { return e.Problems }

// HostError is the error of a job one of whose hosts could not be reached or
// was lost.
type HostError struct {
	Host string
	Step string // dial, login, agent, start or run
	Err  error
	Hint string // something to do; "": none
}

// Error names host and step, with which errors of package net begin, too.
func (e *HostError) Error() string {
	return fmt.Sprintf("%s: %s: %s", e.Host, e.Step, strings.TrimPrefix(e.Err.Error(), e.Step+" "))
}

func (e *HostError) Unwrap() error { return e.Err }

// SignalError is the error of a job that a signal to the launcher ended.
type SignalError struct{ Signal string }

func (e *SignalError) Error() string { return "ended by " + e.Signal }

// ErrTimeout is the error of a job that reached Limits.Run.
var ErrTimeout = errors.New("the job reached its time limit")

// Exit statuses that gorun itself ends with; the rest are the ranks'.
const (
	StatusUsage         = 2
	StatusTimeout       = 124
	StatusFailed        = 125 // gorun or a host failed
	StatusNotExecutable = 126
	StatusNotFound      = 127
)

// ExitStatus returns what the command exits with for the error of [Run].
func ExitStatus(err error) int {
	var exit *ExitError
	var start *StartError
	var plan *PlanError
	var sig *SignalError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.Status()
	case errors.As(err, &start):
		if start.Missing {
			return StatusNotFound
		}
		return StatusNotExecutable
	case errors.As(err, &plan):
		return StatusUsage
	case errors.As(err, &sig):
		return 128 + signalNumber(sig.Signal)
	case errors.Is(err, ErrTimeout), errors.Is(err, context.DeadlineExceeded):
		return StatusTimeout
	}
	return StatusFailed
}

// plural returns "1 host" or "2 hosts".
func plural(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprint(n, " ", what)
}
