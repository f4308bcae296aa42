package control

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/nccl/internal/core"
)

func FuzzReadFrame(f *testing.F) {
	for _, failure := range []error{
		&core.LostError{Ranks: []int{1, 2}},
		&core.AbortedError{Rank: 3, Reason: "why"},
		&core.StallError{Op: "Barrier", Seq: 9, Missing: []int{0, 2}},
	} {
		k, body, _ := encodeFailure(failure)
		fr := frame{kind: k, from: 1, hops: 2, body: body}
		f.Add(fr.encode())
	}
	f.Add((&frame{kind: bye}).encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		const size = 4
		fr, err := readFrame(bytes.NewReader(b), size)
		if err != nil {
			return
		}
		require.Equal(t, b[:headerSize+len(fr.body)], fr.encode())
		failure, err := decodeFailure(fr.kind, fr.body, size)
		if err != nil {
			return
		}
		k, body, ok := encodeFailure(failure)
		require.True(t, ok)
		require.Equal(t, fr.kind, k)
		require.Equal(t, fr.body, body)
	})
}
