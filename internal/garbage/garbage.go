// Package garbage makes what listeners must survive: inputs that are no message,
// or nearly one. A test feeds a listener with [Inputs], and [Flood] or [Heap] measures
// what of them stays in memory.
package garbage

import (
	"iter"
	"math/rand/v2"
	"runtime"
	"slices"
)

// maxNoise is the length of the longest input that is random from its first byte
// to its last.
const maxNoise = 300

// Inputs yields n inputs, the same ones each time, that none of the true
// messages is. By turns they are noise, a truth cut off, one with a few bits
// flipped, one in which four bytes promise more than comes, and a truth cut off
// with noise behind it. The slices are the caller's.
func Inputs(n int, truths ...[]byte) iter.Seq[[]byte] {
	random := rand.New(rand.NewPCG(1, 2))
	noise := func() []byte {
		b := make([]byte, 1+random.IntN(maxNoise))
		for i := range b {
			b[i] = byte(random.Uint32())
		}
		return b
	}
	input := func(kind int) []byte {
		if len(truths) == 0 || kind == 0 {
			return noise()
		}
		b := slices.Clone(truths[random.IntN(len(truths))])
		switch kind {
		case 1:
			return b[:random.IntN(len(b))]
		case 2:
			for range 1 + random.IntN(3) {
				b[random.IntN(len(b))] ^= 1 << random.IntN(8)
			}
		case 3:
			at := random.IntN(max(1, len(b)-3))
			copy(b[at:], []byte{byte(random.Uint32()) | 0x40, 0xff, 0xff, 0xff})
		case 4:
			return append(b[:random.IntN(len(b))], noise()...)
		}
		return b
	}
	return func(yield func([]byte) bool) {
		for i := 0; i < n; {
			b := input(i % 5)
			if len(b) == 0 || slices.ContainsFunc(truths, func(truth []byte) bool { return slices.Equal(truth, b) }) {
				continue
			}
			if i++; !yield(b) {
				return
			}
		}
	}
}

// Flood has feed give a listener 1,000 inputs, after which it has all that it
// needs, and 10,000 more. Of these it returns how many bytes of memory are kept,
// and how many were taken for each of them.
func Flood(feed func(n int)) (kept, taken int64) {
	const many = 10_000
	feed(1000)
	used, before := Heap()
	feed(many)
	later, after := Heap()
	return later - used, (after - before) / many
}

// Heap returns how many bytes of memory are in use, and how many were ever
// taken, after what nobody uses any more was given back.
func Heap() (used, taken int64) {
	runtime.GC()
	runtime.GC() // what a sync.Pool kept over the first
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc), int64(m.TotalAlloc)
}
