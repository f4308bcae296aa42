package remote

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"io"
	"sync"
)

// newMarker returns what starts the messages of one boot script: no shell
// prints it by accident. Its first byte occurs in it once, on which scanner
// relies.
func newMarker() string {
	nonce := make([]byte, 8)
	rand.Read(nonce) // never fails
	return "gorun-" + hex.EncodeToString(nonce)
}

const (
	maxMessage = 8 << 10 // bytes of a message; the longest tells of five folders
	noiseKept  = 4 << 10 // bytes of noise kept for reports, the last
)

// scanner finds messages, "MARKER TEXT\n", in a stream of noise. A message may
// follow noise on the same line.
type scanner struct {
	prefix  string // the marker and a space
	matched int    // bytes of prefix seen
	message []byte // what followed it, so far

	noise tail
}

func newScanner(marker string) *scanner { return &scanner{prefix: marker + " "} }

// scan takes the next bytes of the stream up to the end of a message. It
// returns how many these were, and the message's text; ok is false if they
// were all taken and no message has ended. A message that grows too long is
// noise.
func (s *scanner) scan(p []byte) (text string, n int, ok bool) {
	for n < len(p) {
		if s.matched < len(s.prefix) {
			n += s.match(p[n:])
			continue
		}
		end := bytes.IndexByte(p[n:], '\n')
		chunk := p[n:]
		if end >= 0 {
			chunk = p[n : n+end]
		}
		n += len(chunk)
		if len(s.message)+len(chunk) > maxMessage {
			s.noise.Write([]byte(s.prefix))
			s.noise.Write(s.message)
			s.noise.Write(chunk)
			s.message, s.matched = nil, 0
			continue
		}
		s.message = append(s.message, chunk...)
		if end >= 0 {
			text = string(s.message)
			s.message, s.matched = nil, 0
			return text, n + 1, true
		}
	}
	return "", n, false
}

// match looks for the prefix in p and returns how many bytes it took.
func (s *scanner) match(p []byte) int {
	if s.matched == 0 {
		start := bytes.IndexByte(p, s.prefix[0])
		if start < 0 {
			start = len(p)
		}
		if start > 0 {
			s.noise.Write(p[:start])
			return start
		}
	}
	n := 0
	for n < len(p) && s.matched < len(s.prefix) && p[n] == s.prefix[s.matched] {
		n++
		s.matched++
	}
	if n < len(p) && s.matched < len(s.prefix) {
		// Since the first byte is nowhere else in the prefix, no other match
		// can have begun inside this one.
		s.noise.Write([]byte(s.prefix[:s.matched]))
		s.matched = 0
	}
	return n
}

// tail keeps the last bytes written to it, and counts all.
type tail struct {
	kept  []byte
	total int64
}

func (t *tail) Write(p []byte) (int, error) {
	t.total += int64(len(p))
	if len(p) >= noiseKept {
		t.kept = append(t.kept[:0], p[len(p)-noiseKept:]...)
		return len(p), nil
	}
	if over := len(t.kept) + len(p) - noiseKept; over > 0 {
		t.kept = append(t.kept[:0], t.kept[over:]...)
	}
	t.kept = append(t.kept, p...)
	return len(p), nil
}

// text returns what was kept, trimmed.
func (t *tail) text() string { return string(bytes.TrimSpace(t.kept)) }

// agentStderr is a standard error stream that belongs to shells until a
// message, and to the agent from then on.
type agentStderr struct {
	to io.Writer // the agent's; nil: discarded

	mu      sync.Mutex
	scanner *scanner // nil: the message has come
	noise   tail
}

func (e *agentStderr) Write(p []byte) (int, error) {
	rest := p
	e.mu.Lock()
	if e.scanner != nil {
		_, n, ok := e.scanner.scan(p)
		rest = p[n:]
		e.noise = e.scanner.noise
		if ok {
			e.scanner = nil
		}
	}
	e.mu.Unlock()
	if len(rest) > 0 && e.to != nil {
		if _, err := e.to.Write(rest); err != nil {
			return len(p) - len(rest), err
		}
	}
	return len(p), nil
}

// ReadFrom copies with little memory of its own, where io.Copy would take
// 32 KiB: there is one for each host of a job, and most have nothing to say.
func (e *agentStderr) ReadFrom(r io.Reader) (n int64, err error) {
	buf := make([]byte, 1<<10)
	for {
		got, err := r.Read(buf)
		n += int64(got)
		if _, werr := e.Write(buf[:got]); werr != nil {
			return n, werr
		}
		if err == io.EOF {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
}

// shells returns what came before the message.
func (e *agentStderr) shells() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.noise.text()
}
