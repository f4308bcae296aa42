package launcher

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
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
	Rank   int
	Code   int // exit status; -1: killed by Signal, or lost with Host
	Host   string
	Signal string // "SIGKILL"; "": none
	Cause  string // what probably ended it, for people; "": nothing known
	Tail   []byte // last lines of its standard error, at most 4 KiB
	At     time.Time
}

// Status returns what a shell would report: the code, or 128 plus the signal.
func (e RankExit) Status() int {
	if e.Code >= 0 {
		return e.Code
	}
	return 128 + signalNumber(e.Signal)
}

// String returns "rank 3 on node1 exited with status 2".
func (e RankExit) String() string {
	how := fmt.Sprintf("exited with status %d", e.Code)
	switch {
	case e.Signal != "":
		how = "was killed by " + e.Signal
	case e.Code < 0:
		how = "was lost with its host"
	}
	return fmt.Sprintf("rank %d on %s %s", e.Rank, e.Host, how)
}

// ExitError is the error of a job whose first failure was a rank's.
type ExitError struct{ RankExit }

func (e *ExitError) Error() string { return e.RankExit.String() }

// StartError is the error of a job one of whose programs could not be started.
type StartError struct {
	Host    string
	Rank    int
	Program string // or the folder, when that is what is missing
	Missing bool   // not found, rather than not executable
	Err     error
	Hint    string // something to do; "": none
}

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

func (e *HostError) Error() string {
	return fmt.Sprintf("%s: %s: %v", e.Host, e.Step, e.Err)
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
