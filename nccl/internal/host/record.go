package host

import (
	"errors"
	"fmt"
)

// record is what a rank says about itself in the bootstrap.
//
//	offset  bytes
//	     0      1  version of the engine's behaviour on the wire, 1
//	     1      1  flags: 1 Check, 2 RankRing
//	     2      1  length of the set of CPUs
//	     3         set of CPUs: CPU 0 is the lowest bit of the first byte
//	               name of the host, at most 255 bytes
type record struct {
	host string
	conf Config
	cpus cpuSet
}

// recordVersion changes with everything that two ranks must do alike: plans,
// chunk sizes, control frames.
const recordVersion = 1

const (
	flagCheck    = 1
	flagRankRing = 2
)

func (r *record) encode() []byte {
	flags := byte(0)
	if r.conf.Check {
		flags |= flagCheck
	}
	if r.conf.RankRing {
		flags |= flagRankRing
	}
	b := []byte{recordVersion, flags, byte(len(r.cpus))}
	b = append(b, r.cpus...)
	return append(b, r.host[:min(len(r.host), 255)]...)
}

func decodeRecord(b []byte) (r record, err error) {
	if len(b) < 3 || len(b) < 3+int(b[2]) || len(b) > 3+int(b[2])+255 {
		return r, fmt.Errorf("a record of %d bytes, which does not add up", len(b))
	}
	if b[0] != recordVersion {
		return r, fmt.Errorf("version %d of the host engine, this is %d: all ranks need the same program", b[0], recordVersion)
	}
	if b[1]&^(flagCheck|flagRankRing) != 0 {
		return r, errors.New("a record with unknown flags")
	}
	r.conf.Check = b[1]&flagCheck != 0
	r.conf.RankRing = b[1]&flagRankRing != 0
	r.cpus = cpuSet(b[3 : 3+b[2]])
	r.host = string(b[3+int(b[2]):])
	return r, nil
}

// differs returns which setting one of r and conf has and the other not; "" if
// they agree.
func (r *record) differs(conf Config) string {
	switch {
	case r.conf.Check != conf.Check:
		return "Check"
	case r.conf.RankRing != conf.RankRing:
		return "Deterministic"
	}
	return ""
}
