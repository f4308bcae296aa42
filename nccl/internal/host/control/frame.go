package control

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/gorun/gorun/nccl/internal/core"
)

// Frames go from neighbour to neighbour. Numbers are big endian.
//
//	offset  bytes
//	     0      1  kind
//	     1      4  rank that sent it first
//	     5      4  links that it may still cross after this one
//	     9      2  length of the body
//	    11         body
//
//	kind     body
//	bye      –: the sender's end is no loss; not passed on
//	lost     ranks, 4 bytes each
//	aborted  rank 4, reason
//	stalled  call 8, number of ranks 4, ranks 4 each, name of the operation
//	probe    –: asks everyone for an answer
//	answer   rank that asked 4, the last call entered 8
const headerSize = 11

// maxBody bounds what a peer may make this one allocate: the ranks of a large
// loss, or a reason.
const maxBody = 32 << 10

// maxReason bounds the text of an abort.
const maxReason = 4 << 10

type kind uint8

const (
	bye kind = iota + 1
	lost
	aborted
	stalled
	probe
	answer
)

type frame struct {
	kind kind
	from int
	hops int
	body []byte
}

// encode returns the frame's bytes.
func (f *frame) encode() []byte {
	b := make([]byte, 0, headerSize+len(f.body))
	b = append(b, byte(f.kind))
	b = binary.BigEndian.AppendUint32(b, uint32(f.from))
	b = binary.BigEndian.AppendUint32(b, uint32(f.hops))
	b = binary.BigEndian.AppendUint16(b, uint16(len(f.body)))
	return append(b, f.body...)
}

// readFrame reads one frame of a communicator of size ranks.
func readFrame(r io.Reader, size int) (f frame, err error) {
	var h [headerSize]byte
	if _, err := io.ReadFull(r, h[:]); err != nil {
		return f, err
	}
	f.kind = kind(h[0])
	from, hops := binary.BigEndian.Uint32(h[1:]), binary.BigEndian.Uint32(h[5:])
	n := int(binary.BigEndian.Uint16(h[9:]))
	if from >= uint32(size) || hops >= uint32(size) || n > maxBody {
		return f, fmt.Errorf("frame from rank %d, %d hops to go, %d bytes, in a communicator of %d ranks", from, hops, n, size)
	}
	f.from, f.hops, f.body = int(from), int(hops), make([]byte, n)
	_, err = io.ReadFull(r, f.body)
	return f, err
}

// encodeFailure returns the kind and body that carry a failure; ok is false for
// those that every rank finds by itself.
func encodeFailure(failure error) (k kind, body []byte, ok bool) {
	switch e := failure.(type) {
	case *core.LostError:
		return lost, appendRanks(nil, e.Ranks), true
	case *core.AbortedError:
		body = binary.BigEndian.AppendUint32(nil, uint32(e.Rank))
		return aborted, append(body, e.Reason[:min(len(e.Reason), maxReason)]...), true
	case *core.StallError:
		missing := e.Missing[:min(len(e.Missing), maxBody/8)]
		body = binary.BigEndian.AppendUint64(nil, e.Seq)
		body = binary.BigEndian.AppendUint32(body, uint32(len(missing)))
		return stalled, append(appendRanks(body, missing), e.Op...), true
	}
	return 0, nil, false
}

// decodeFailure is the reverse of encodeFailure. Ranks outside a communicator
// of size ranks are an error.
func decodeFailure(k kind, body []byte, size int) (error, error) {
	bad := fmt.Errorf("a body of %d bytes does not fit frames of kind %d", len(body), k)
	switch k {
	case lost:
		ranks, ok := readRanks(body, size)
		if !ok || len(ranks) == 0 {
			return nil, bad
		}
		return &core.LostError{Ranks: ranks}, nil
	case aborted:
		if len(body) < 4 || len(body) > 4+maxReason {
			return nil, bad
		}
		ranks, ok := readRanks(body[:4], size)
		if !ok {
			return nil, bad
		}
		return &core.AbortedError{Rank: ranks[0], Reason: string(body[4:])}, nil
	case stalled:
		if len(body) < 12 {
			return nil, bad
		}
		seq, n := binary.BigEndian.Uint64(body), uint64(binary.BigEndian.Uint32(body[8:]))
		if body = body[12:]; n*4 > uint64(len(body)) {
			return nil, bad
		}
		ranks, ok := readRanks(body[:n*4], size)
		if !ok {
			return nil, bad
		}
		return &core.StallError{Op: string(body[n*4:]), Seq: seq, Missing: ranks}, nil
	}
	return nil, bad
}

func appendRanks(b []byte, ranks []int) []byte {
	for _, r := range ranks[:min(len(ranks), maxBody/8)] {
		b = binary.BigEndian.AppendUint32(b, uint32(r))
	}
	return b
}

// readRanks returns the ranks that b has; ok is false if some are not of the
// communicator.
func readRanks(b []byte, size int) (ranks []int, ok bool) {
	if len(b)%4 != 0 {
		return nil, false
	}
	for ; len(b) > 0; b = b[4:] {
		r := binary.BigEndian.Uint32(b)
		if r >= uint32(size) {
			return nil, false
		}
		ranks = append(ranks, int(r))
	}
	return ranks, true
}
