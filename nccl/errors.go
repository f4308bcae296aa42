package nccl

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gorun/gorun/nccl/internal/core"
)

// What to branch on with [errors.Is]. Every error of this package is an
// [*Error] that wraps one of these, one of the types below, or the end of a
// context.
var (
	ErrInvalid   = errors.New("nccl: invalid argument")            // refused before the engine saw it
	ErrClosed    = errors.New("nccl: use after Close")             // of a Comm, Buffer or Stream
	ErrAborted   = errors.New("nccl: communicator was aborted")    // by Abort or a context, on any rank
	ErrGroupOpen = errors.New("nccl: call outside the open group") // use the handle that Group gave
)

// Error is what every call of this package fails with. Branch on what it wraps,
// with [errors.Is] and [errors.AsType].
type Error struct {
	Op, Comm   string // the call, as "AllReduce", and the communicator's name
	Rank, Size int    // this rank's place; both 0 if there is no communicator yet
	Result     Result // NCCL's code for what happened; 0: the refusal is ours
	Hint       string // what to do; may be empty
	Err        error
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("nccl: " + e.Op)
	if e.Comm != "" {
		fmt.Fprintf(&b, " on %s", e.Comm)
	}
	if e.Size > 0 {
		fmt.Fprintf(&b, ", rank %d of %d", e.Rank, e.Size)
	}
	if e.Err != nil {
		b.WriteString(": " + strings.TrimPrefix(e.Err.Error(), "nccl: "))
	}
	if e.Hint != "" {
		b.WriteString("; " + e.Hint)
	}
	return b.String()
}

// Unwrap returns Err, and Result if it is not 0.
func (e *Error) Unwrap() []error {
	var errs []error
	if e.Err != nil {
		errs = append(errs, e.Err)
	}
	if e.Result != 0 {
		errs = append(errs, e.Result)
	}
	return errs
}

// Result is ncclResult_t, an error by itself: errors.Is(err, nccl.RemoteError).
// Codes without a name are kept.
type Result int32

// NCCL's codes. The host engine uses RemoteError for lost ranks, Timeout for
// stalls and InvalidUsage for calls that differ.
const (
	UnhandledCUDAError Result = 1
	SystemError        Result = 2
	InternalError      Result = 3
	InvalidArgument    Result = 4
	InvalidUsage       Result = 5
	RemoteError        Result = 6
	InProgress         Result = 7
	Timeout            Result = 8
)

// Error returns the code's name and number.
func (r Result) Error() string {
	name := "unknown result"
	switch r {
	case UnhandledCUDAError:
		name = "unhandled CUDA error"
	case SystemError:
		name = "system error"
	case InternalError:
		name = "internal error"
	case InvalidArgument:
		name = "invalid argument"
	case InvalidUsage:
		name = "invalid usage"
	case RemoteError:
		name = "remote process has failed or network error"
	case InProgress:
		name = "operation in progress"
	case Timeout:
		name = "operation timed out"
	}
	return fmt.Sprintf("%s (ncclResult %d)", name, int32(r))
}

// LostError says that ranks are gone: their processes ended, or their hosts
// cannot be reached.
type LostError struct {
	Ranks []int
	Hosts []string // where they were, if known; without repetition
}

func (e *LostError) Error() string {
	return "nccl: lost " + core.NameRanks(e.Ranks, e.Hosts)
}

// StallError says that a call did not finish within [Config.Deadline].
type StallError struct {
	Op      string   // what stalled
	Seq     uint64   // its number among the communicator's calls, from 1
	Missing []int    // ranks that never entered it; empty: all did, but one stopped inside it
	Hosts   []string // where they are, if known; without repetition
}

func (e *StallError) Error() string {
	return "nccl: " + (&core.StallError{Op: e.Op, Seq: e.Seq, Missing: e.Missing, Hosts: e.Hosts}).Error()
}

// MismatchError says that ranks made different calls. Only [Config.Check] looks for them.
type MismatchError struct {
	Seq   uint64           // the call's number among the communicator's, from 1
	Calls map[string][]int // ranks by what they called, as "AllReduce float32[1024] sum"
}

func (e *MismatchError) Error() string {
	return "nccl: " + (&core.MismatchError{Seq: e.Seq, Calls: e.Calls}).Error()
}

// UnsupportedError says what this build cannot do. It matches [errors.ErrUnsupported].
type UnsupportedError struct {
	What string // what was asked for, and what there is
}

func (e *UnsupportedError) Error() string { return "nccl: " + e.What }

// Is reports whether target is [errors.ErrUnsupported].
func (e *UnsupportedError) Is(target error) bool { return target == errors.ErrUnsupported }

// invalid returns an ErrInvalid that says what is wrong.
func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrInvalid, fmt.Sprintf(format, args...))
}

// translate returns NCCL's code for an engine's error, and the package's own error.
func translate(err error) (Result, error) {
	switch e := err.(type) {
	case *core.LostError:
		return RemoteError, &LostError{Ranks: e.Ranks, Hosts: e.Hosts}
	case *core.StallError:
		return Timeout, &StallError{Op: e.Op, Seq: e.Seq, Missing: e.Missing, Hosts: e.Hosts}
	case *core.MismatchError:
		return InvalidUsage, &MismatchError{Seq: e.Seq, Calls: e.Calls}
	case *core.AbortedError:
		switch {
		case e.Cause != nil:
			return 0, fmt.Errorf("%w by rank %d: %w", ErrAborted, e.Rank, e.Cause)
		case e.Reason != "":
			return 0, fmt.Errorf("%w by rank %d: %s", ErrAborted, e.Rank, e.Reason)
		}
		return 0, fmt.Errorf("%w by rank %d", ErrAborted, e.Rank)
	}
	if err == core.ErrClosed {
		return 0, ErrClosed
	}
	return 0, err
}
