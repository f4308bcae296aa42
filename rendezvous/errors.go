package rendezvous

import (
	"errors"
	"fmt"
	"strings"
)

var (
	// ErrExists is in the error of [Job.Put] under a key that has another value,
	// and of an [Job.Exchange] or [Job.Barrier] whose name has served already.
	ErrExists = errors.New("rendezvous: key has another value")
	// ErrStale is in the error of a call for an epoch that is over, or has not
	// begun.
	ErrStale = errors.New("rendezvous: epoch is over")
	// ErrClosed is the error of calls on a closed Job.
	ErrClosed = errors.New("rendezvous: job is closed")
)

// MissingError tells who had not come when the context of a call ended. For a
// Get these are the ranks that have not opened the job yet, any of which may
// still publish the key.
type MissingError struct {
	What  string   // what was waited for, such as `barrier "start"`
	Ranks []int    // ascending; empty if all have opened the job
	Hosts []string // theirs, each once, in the order of the plan
	Err   error    // why the wait ended
}

func (e *MissingError) Error() string {
	if len(e.Ranks) == 0 {
		return fmt.Sprintf("rendezvous: %s: no rank has published it: %v", e.What, e.Err)
	}
	ranks, on := "rank", ""
	if len(e.Ranks) > 1 {
		ranks = "ranks"
	}
	if len(e.Hosts) > 0 {
		on = " on " + strings.Join(e.Hosts, ", ")
	}
	return fmt.Sprintf("rendezvous: %s: %s %s%s missing: %v", e.What, ranks, ranges(e.Ranks), on, e.Err)
}

// Unwrap returns Err.
func (e *MissingError) Unwrap() error { return e.Err }

// ranges writes ascending numbers as "0-3,7".
func ranges(numbers []int) string {
	var b strings.Builder
	for i := 0; i < len(numbers); {
		end := i
		for end+1 < len(numbers) && numbers[end+1] == numbers[end]+1 {
			end++
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		fmt.Fprint(&b, numbers[i])
		if end > i {
			fmt.Fprintf(&b, "-%d", numbers[end])
		}
		i = end + 1
	}
	return b.String()
}
