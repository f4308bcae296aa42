package hostfiles

import "fmt"

// Host is one host as written. A field that was not written is zero.
type Host struct {
	Name string // as written: a name or an address, without brackets
	User string // ssh's -l
	Key  string // path of the private key, ssh's -i
	Jump string // ssh's -J
	Addr string // address at which the other hosts reach this one
	// Iface is the interface that carries the job's traffic; Rack and Switch
	// say where the host stands, for the order of the ring.
	Iface, Rack, Switch string

	Port            int // of its SSH server; 0: the configured one
	Slots, MaxSlots int // 0: not declared

	GPUs []int // indexes of the GPUs that the job may use; nil: all
	Pos  Pos   // where it was written first
}

// Pos is a place in a hostfile or host list. Lines and columns count from 1,
// columns in bytes.
type Pos struct {
	File         string
	Line, Column int
}

// String returns "file:line:column".
func (p Pos) String() string {
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}
