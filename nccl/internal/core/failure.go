package core

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ErrClosed is the failure of a communicator that ended in good order.
var ErrClosed = errors.New("communicator is closed")

// AbortedError is the failure of a communicator that a rank ended on purpose.
type AbortedError struct {
	Rank   int    // who
	Reason string // why, in that rank's words; may be empty
	Cause  error  // on that rank itself, what Reason was made from; else nil
}

func (e *AbortedError) Error() string {
	if e.Reason == "" {
		return fmt.Sprintf("aborted by rank %d", e.Rank)
	}
	return fmt.Sprintf("aborted by rank %d: %s", e.Rank, e.Reason)
}

// Unwrap returns Cause.
func (e *AbortedError) Unwrap() error { return e.Cause }

// LostError is the failure of a communicator some of whose ranks are gone.
type LostError struct {
	Ranks []int
	Hosts []string // where they were, if known; without repetition
}

func (e *LostError) Error() string {
	return "lost " + NameRanks(e.Ranks, e.Hosts)
}

// StallError is the failure of a communicator a call of which took longer than allowed.
type StallError struct {
	Op      string   // what stalled
	Seq     uint64   // its number in the communicator, from 1
	Missing []int    // ranks that did not enter it
	Hosts   []string // where they are, if known; without repetition
}

func (e *StallError) Error() string {
	if len(e.Missing) == 0 {
		return fmt.Sprintf("%s, call %d, stalled after every rank had entered it", e.Op, e.Seq)
	}
	return fmt.Sprintf("%s, call %d, stalled: it was not entered by %s", e.Op, e.Seq, NameRanks(e.Missing, e.Hosts))
}

// MismatchError is the failure of a communicator whose ranks made different calls.
type MismatchError struct {
	Seq   uint64           // the call's number in the communicator, from 1
	Calls map[string][]int // ranks by the call they made
}

func (e *MismatchError) Error() string {
	calls := slices.SortedFunc(maps.Keys(e.Calls), func(a, b string) int { return cmp.Compare(e.Calls[a][0], e.Calls[b][0]) })
	for i, call := range calls {
		calls[i] = NameRanks(e.Calls[call], nil) + " made " + call
	}
	return fmt.Sprintf("ranks differ in call %d: %s", e.Seq, strings.Join(calls, "; "))
}

// NameRanks names ranks and their hosts, as "ranks 1, 3 on node2".
func NameRanks(ranks []int, hosts []string) string {
	var b strings.Builder
	b.WriteString("rank")
	if len(ranks) != 1 {
		b.WriteByte('s')
	}
	for i, r := range ranks {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, " %d", r)
	}
	if len(hosts) > 0 {
		b.WriteString(" on " + strings.Join(hosts, ", "))
	}
	return b.String()
}
