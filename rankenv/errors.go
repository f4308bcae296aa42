package rankenv

import (
	"fmt"
	"strings"
)

// VarError is a variable that is malformed, out of range, or missing beside
// the others of its set.
type VarError struct {
	Name  string
	Value string // "": not set
	Want  string // what was expected, in words
}

// Error returns, for example, `RANK: expected a number from 0 to 7, below WORLD_SIZE, found "8"`.
func (e *VarError) Error() string {
	if e.Value == "" {
		return fmt.Sprintf("%s: expected %s, found nothing", e.Name, e.Want)
	}
	return fmt.Sprintf("%s: expected %s, found %q", e.Name, e.Want, e.Value)
}

// ConflictError is one number on which the sets of several launchers disagree.
type ConflictError struct {
	Field string   // "rank", "size", "local rank", "local size", "node" or "nodes"
	Vars  []string // what each set says of it, as "NAME=value"
}

// Error returns, for example, "launchers disagree on the rank: GORUN_RANK=3, RANK=0".
func (e *ConflictError) Error() string {
	return fmt.Sprintf("launchers disagree on the %s: %s", e.Field, strings.Join(e.Vars, ", "))
}
