package hostfiles

import (
	"fmt"
	"strings"
)

// Host is one host as written. A field that was not written is zero.
type Host struct {
	Name string // as written: a name or an address, without brackets
	User string // ssh's -l
	Key  string // path of the private key, ssh's -i
	Jump string // ssh's -J
	Addr string // IP address at which the other hosts reach this one
	// Iface is the interface (or its CIDR) that carries the job's traffic;
	// Rack and Switch say where the host stands, for the order of the ring.
	Iface, Rack, Switch string

	Port            int // of its SSH server; 0: the configured one
	Slots, MaxSlots int // 0: not declared

	GPUs     []int // indexes of the GPUs that the job may use; nil: all but SkipGPUs
	SkipGPUs []int // indexes of the GPUs that it must leave alone; nil if GPUs is not

	Turns []int // its places among all hosts as they were written, from 0: one for each time
	Pos   Pos   // where it was written first
}

// String returns a line of a hostfile from which [Parse] makes h again, but
// for its Pos and Turns. It does so for every h that came from this package.
func (h Host) String() string {
	var b strings.Builder
	if strings.Contains(h.Name, ":") {
		b.WriteString("[" + h.Name + "]")
	} else {
		b.WriteString(h.Name)
	}
	for _, a := range attributes {
		if value := a.get(&h); value != "" {
			b.WriteString(" " + a.name + "=" + quote(value))
		}
	}
	return b.String()
}

// Pos is a place in a hostfile or host list. Lines and columns count from 1,
// columns in bytes; a byte order mark is not counted.
type Pos struct {
	File         string
	Line, Column int
}

// String returns "file:line:column".
func (p Pos) String() string {
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// SyntaxError is one thing in a hostfile or host list that cannot be read, or
// contradicts what was read before.
type SyntaxError struct {
	Pos   Pos
	Want  string // what was expected, in words
	Found string // the text that stood there; "": nothing
}

// Error returns, for example, `hosts:3:9: expected slots=N, found "slots=x"`.
func (e *SyntaxError) Error() string {
	const enough = 64 // bytes that recognize the text; a word may be megabytes long
	found := "nothing"
	switch {
	case len(e.Found) > enough:
		found = fmt.Sprintf("%q…", e.Found[:enough])
	case e.Found != "":
		found = fmt.Sprintf("%q", e.Found)
	}
	return fmt.Sprintf("%v: expected %s, found %s", e.Pos, e.Want, found)
}
