package stdio

import "bytes"

// MaxTail is the length of a [Tail]. It holds the end of a stack trace or the
// last words of a library, and is small enough to keep for every rank.
const MaxTail = 4 << 10

// Tail keeps the end of what is written to it: the last lines of a rank's
// standard error, for the summary of a failed job. The zero Tail is empty and
// takes no memory until the first write. It is not safe for concurrent use.
type Tail struct {
	ring  []byte // once full, the oldest byte is at next
	next  int
	wraps bool // bytes were overwritten
}

// Write keeps the end of p, of which it makes a copy. It never fails.
func (t *Tail) Write(p []byte) (int, error) {
	written := len(p)
	if len(p) > MaxTail {
		p, t.wraps = p[len(p)-MaxTail:], true
	}
	// Until the ring is full it grows, so that a rank that says little costs little.
	grow := min(len(p), MaxTail-len(t.ring))
	t.ring = append(t.ring, p[:grow]...)
	p = p[grow:]
	for len(p) > 0 {
		t.wraps = true
		n := copy(t.ring[t.next:], p)
		p = p[n:]
		t.next = (t.next + n) % MaxTail
	}
	return written, nil
}

// Bytes returns a copy of the last whole lines that fit in [MaxTail] bytes. The
// very last may lack its newline. If a single line is too long, its end is
// returned.
func (t *Tail) Bytes() []byte {
	b := append(bytes.Clone(t.ring[t.next:]), t.ring[:t.next]...)
	if !t.wraps {
		return b
	}
	// The first line may have lost its beginning.
	if i := bytes.IndexByte(b, '\n') + 1; i < len(b) {
		return b[i:]
	}
	return b
}
