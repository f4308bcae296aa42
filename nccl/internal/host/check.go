package host

import (
	"bytes"
	"encoding/binary"

	"github.com/gorun/gorun/nccl/internal/core"
)

// signatureSize is the bytes of a call that ranks compare: kind, type, op and a
// zero, root 4, count 8.
const signatureSize = 16

// checker compares a call with those of the other ranks before it runs, by an
// all-gather of their signatures.
type checker struct {
	own, all []byte // signatures
}

func newChecker(size int) *checker {
	return &checker{own: make([]byte, signatureSize), all: make([]byte, size*signatureSize)}
}

// gather returns the call that exchanges the signatures of call.
func (k *checker) gather(call core.Call) core.Call {
	k.own[0], k.own[1], k.own[2] = byte(call.Kind), byte(call.Type), byte(call.Op)
	binary.BigEndian.PutUint32(k.own[4:], uint32(call.Root))
	binary.BigEndian.PutUint64(k.own[8:], uint64(call.Count))
	return core.Call{Kind: core.AllGather, Type: core.Uint8, Count: signatureSize, Dst: k.all, Src: k.own}
}

// mismatch returns a *core.MismatchError if the gathered signatures differ, else nil.
func (k *checker) mismatch(seq uint64) error {
	if bytes.Equal(k.all, bytes.Repeat(k.own, len(k.all)/signatureSize)) {
		return nil
	}
	calls := make(map[string][]int)
	for rank := 0; rank*signatureSize < len(k.all); rank++ {
		s := k.all[rank*signatureSize:]
		call := core.Call{
			Kind:  core.Kind(s[0]),
			Type:  core.Type(s[1]),
			Op:    core.Op(s[2]),
			Root:  int(binary.BigEndian.Uint32(s[4:])),
			Count: int(binary.BigEndian.Uint64(s[8:])),
		}
		calls[call.String()] = append(calls[call.String()], rank)
	}
	return &core.MismatchError{Seq: seq, Calls: calls}
}
