package stdio

import (
	"bytes"
	"slices"
	"time"
)

const (
	// MaxHeld is the length from which an unfinished line is written without
	// waiting for its end. Lines up to this length, newline included, stay whole.
	MaxHeld = 64 << 10

	// PromptDelay is how long an unfinished line of the rank that owns standard
	// input, or of the last rank with open output, waits for its newline. It is
	// shorter than what a person takes for a hang, and longer than the pauses
	// inside one line of a program that writes it in parts.
	PromptDelay = 100 * time.Millisecond

	// Continued stands between the tag and the rest of a line whose beginning
	// was written before another source's lines.
	Continued = "... "

	// keepTotal is how much memory all sources may keep for what they hold,
	// between the lines of which they hold parts. Beyond its share a source gives
	// its buffer to the collector, so that one long line on each of thousands of
	// ranks does not pin 64 KiB for each.
	keepTotal = 8 << 20

	// keepScratch is the same for the merger's own buffer: enough for a tagged
	// chunk of 32 KiB, not for one that consists of newlines.
	keepScratch = 256 << 10
)

// Stream is one of a rank's output streams, and the launcher's stream to which
// it goes.
type Stream int

// The output streams.
const (
	Stdout Stream = iota
	Stderr

	streams = 2
)

// String returns "stdout" or "stderr".
func (s Stream) String() string {
	if s == Stderr {
		return "stderr"
	}
	return "stdout"
}

// Config describes the job whose output is merged.
type Config struct {
	// Ranks says where each rank runs. Its length is the world size.
	Ranks []Rank

	// Stdin is the rank that owns standard input, whose prompts are not kept
	// waiting. -1 if there is none.
	Stdin int

	// Screen is the rank that has the user's terminal for its own, -1 if there is
	// none. Its bytes pass as they come and without a tag, and since a terminal
	// that is a program's own does no more than it is told, lines of others that
	// end there get the carriage return that the line discipline else adds.
	Screen int

	// Columns is the width of the terminal at which each of the launcher's streams
	// ends, 0 if it ends elsewhere.
	Columns [streams]int

	// Tag goes before each line. The zero Tag changes no byte.
	Tag Tag

	// SameDestination says that both streams end in one place, such as a
	// terminal, where an unfinished line of one stands in the way of the other.
	// It matters only with a Tag.
	SameDestination bool

	// Raw passes all bytes on as they come, without waiting for newlines. With a
	// Tag, lines are still tagged.
	Raw bool
}

// Chunk is a run of bytes that a rank wrote.
type Chunk struct {
	Rank   int
	Stream Stream
	Time   time.Time // when the agent read it; its location is that of {time}
	Data   []byte    // any length
}

// Piece is a run of bytes to be written to one of the launcher's streams.
type Piece struct {
	Stream Stream
	Data   []byte
}

// Merger merges the sources of one job. Its methods must not be called at the
// same time, and panic when a rank is not in the job or a stream is neither
// [Stdout] nor [Stderr].
//
// The pieces that a method returns, and their data, are valid until the next
// call of Add, Flush or Close; so must be the chunk that was passed.
type Merger struct {
	conf    Config
	sources []source // of rank r: sources[r*streams:][:streams]

	live    int       // ranks with open output
	keep    int       // capacity up to which a source keeps its buffer
	prompts []*source // whose unfinished lines Flush writes
	bars    []*source // whose unfinished lines Flush redraws, the oldest first

	destinations [streams]destination

	pieces  []Piece // result of the current call
	scratch []byte  // what of it is not in the chunk
}

// source is one stream of one rank.
type source struct {
	rank   int
	stream Stream
	closed bool

	held   []byte    // an unfinished line, or the last part of one; < MaxHeld
	since  time.Time // when the first held byte came to the merger
	heldAt time.Time // when the agent read it

	bar   bool // the line is redrawn behind carriage returns; on terminals only
	dirty bool // and not drawn as it is now

	begun bool // the beginning of this line has been written; with tags only

	tag   []byte    // rendered for tagAt, which matters if the tag shows a time
	tagAt time.Time // zero if tag is not rendered
}

// destination is where pieces end up.
type destination struct {
	last    *source // wrote last
	midLine bool    // and no newline at the end
	bar     *source // whose unfinished line is drawn there
	drawn   time.Time
}

// NewMerger returns a merger for the job that conf describes. All streams of all
// ranks are open.
func NewMerger(conf Config) *Merger {
	m := &Merger{conf: conf, live: len(conf.Ranks)}
	m.sources = make([]source, len(conf.Ranks)*streams)
	m.keep = keepTotal / max(1, len(m.sources))
	for i := range m.sources {
		m.sources[i].rank = i / streams
		m.sources[i].stream = Stream(i % streams)
	}
	m.findPrompts()
	return m
}

// Add takes a chunk that arrived at now and returns what may be written.
func (m *Merger) Add(now time.Time, c Chunk) []Piece {
	m.begin()
	s := m.source(c.Rank, c.Stream)
	ready := lastNewline(c.Data) + 1
	unfinished := len(c.Data) - ready
	if ready == 0 {
		unfinished += len(s.held)
	}
	if rest := c.Data[ready:]; m.redraws(s) && bytes.IndexByte(rest, '\r') >= 0 {
		unfinished = len(lastState(rest))
	}
	if unfinished >= MaxHeld || m.conf.Raw || s.rank == m.conf.Screen {
		ready = len(c.Data)
	}
	if ready > 0 {
		m.write(s, c.Data[:ready], c.Time)
	}
	if rest := c.Data[ready:]; len(rest) > 0 {
		if len(s.held) == 0 {
			s.since, s.heldAt = now, c.Time
		}
		s.held = append(s.held, rest...)
		if m.redraws(s) && (s.bar || bytes.IndexByte(rest, '\r') >= 0) {
			m.redraw(s, c.Time)
		}
	}
	return m.pieces
}

// Deadline returns when [Merger.Flush] will have something to write, by the
// clock of the times given to [Merger.Add]; the zero Time if nothing is due to
// be flushed. It changes with every call of the other methods, and holds also
// while chunks keep coming.
func (m *Merger) Deadline() time.Time {
	var first time.Time
	earlier := func(due time.Time) {
		if first.IsZero() || due.Before(first) {
			first = due
		}
	}
	for _, s := range m.prompts {
		if len(s.held) > 0 && !s.bar {
			earlier(s.since.Add(PromptDelay))
		}
	}
	for _, s := range m.bars {
		if due, ok := m.nextBar(s); ok {
			earlier(due)
		}
	}
	return first
}

// Flush returns the prompts that have waited for [PromptDelay] at now, the
// oldest first, and the lines that are to be redrawn.
func (m *Merger) Flush(now time.Time) []Piece {
	m.begin()
	var due []*source
	for _, s := range m.prompts {
		if len(s.held) > 0 && !s.bar && now.Sub(s.since) >= PromptDelay {
			due = append(due, s)
		}
	}
	slices.SortStableFunc(due, func(a, b *source) int { return a.since.Compare(b.since) })
	for _, s := range due {
		m.write(s, nil, s.heldAt)
	}
	for _, s := range m.bars {
		if due, ok := m.nextBar(s); ok && !now.Before(due) {
			m.draw(s, now)
		}
	}
	return m.pieces
}

// Close ends a source and returns what it still held. No chunk of it may follow.
// A rank whose output is not shown is closed at once. To close a source again
// does nothing.
func (m *Merger) Close(rank int, stream Stream) []Piece {
	m.begin()
	s := m.source(rank, stream)
	if s.closed {
		return nil
	}
	s.closed = true
	if len(s.held) > 0 {
		m.write(s, nil, s.heldAt)
	}
	s.held = nil
	if m.source(rank, Stdout).closed && m.source(rank, Stderr).closed {
		if m.live--; m.live == 1 {
			m.findPrompts()
		}
	}
	return m.pieces
}

// InputEnded says that there is no standard input any more, so that no rank can
// be waiting for it behind a prompt.
func (m *Merger) InputEnded() {
	m.conf.Stdin = -1
	m.findPrompts()
}

// MidLine reports whether what was written to a stream does not end with a
// newline, so that a message of the launcher's own has to begin with one.
func (m *Merger) MidLine(stream Stream) bool { return m.destination(stream).midLine }

// begin makes room for the result of a call.
func (m *Merger) begin() {
	m.pieces = m.pieces[:0]
	m.scratch = reuse(m.scratch, keepScratch)
}

func (m *Merger) source(rank int, stream Stream) *source {
	return &m.sources[rank*streams:][:streams][stream]
}

func (m *Merger) destination(stream Stream) *destination {
	if m.conf.SameDestination {
		return &m.destinations[0]
	}
	return &m.destinations[stream]
}

// findPrompts collects the sources that a person may be waiting for.
func (m *Merger) findPrompts() {
	m.prompts = m.prompts[:0]
	for i := range m.sources {
		s := &m.sources[i]
		if !s.closed && (s.rank == m.conf.Stdin || m.live == 1) {
			m.prompts = append(m.prompts, s)
		}
	}
}

// write adds what s holds and then data, read at the time at, to the pieces.
func (m *Merger) write(s *source, data []byte, at time.Time) {
	d := m.destination(s.stream)
	start := len(m.scratch)
	if s.rank == m.conf.Screen || m.conf.Tag.empty() && m.conf.Columns[s.stream] == 0 {
		// A copy, because s may hold the rest of the same chunk next.
		m.scratch = append(m.scratch, s.held...)
		m.add(s.stream, m.scratch[start:])
		m.add(s.stream, data)
		// An unfinished line holds no newline, so data alone decides.
		d.last, d.midLine = s, !bytes.HasSuffix(data, newline)
	} else {
		m.eraseBar(d)
		if m.redraws(s) { // whole lines, since the end of one decides what its beginning is
			data, s.held = append(s.held, data...), nil
			m.endBar(s)
		}
		m.appendTagged(d, s, s.held, s.heldAt)
		m.appendTagged(d, s, data, at)
		m.restoreBar(d)
		m.add(s.stream, m.scratch[start:])
	}
	s.held = reuse(s.held, m.keep)
}

// lineEnd is what ends a line of a stream. A terminal that is a rank's own
// takes CR LF.
func (m *Merger) lineEnd(stream Stream) []byte {
	if m.conf.Screen >= 0 && m.conf.Columns[stream] > 0 {
		return returnNewline
	}
	return newline
}

// appendTagged appends data of s to the scratch buffer, a tag before each line
// that begins.
func (m *Merger) appendTagged(d *destination, s *source, data []byte, at time.Time) {
	if len(data) == 0 {
		return
	}
	tag, out := m.tag(s, at), m.scratch
	end, redraws := m.lineEnd(s.stream), m.redraws(s)
	if d.last != s || !d.midLine {
		if d.midLine {
			out = append(out, end...)
		}
		out = append(out, tag...)
		if s.begun && len(tag) > 0 {
			out = append(out, Continued...)
		}
	}
	midLine := false
	for {
		i := bytes.IndexByte(data, '\n')
		if i < 0 {
			out = append(out, data...)
			midLine = true
			break
		}
		line := data[:i]
		if redraws {
			line = bytes.TrimRight(lastState(line), "\r")
		}
		out = append(append(out, line...), end...)
		if data = data[i+1:]; len(data) == 0 {
			break
		}
		out = append(out, tag...)
	}
	m.scratch = out
	d.last, d.midLine, s.begun = s, midLine, midLine
}

// tag returns the tag of a line that s wrote at the time at.
func (m *Merger) tag(s *source, at time.Time) []byte {
	if len(s.tag) == 0 || m.conf.Tag.timed && !at.Equal(s.tagAt) {
		s.tag = m.conf.Tag.appendTo(s.tag[:0], s.rank, m.conf.Ranks[s.rank], at)
		s.tagAt = at
	}
	return s.tag
}

func (m *Merger) add(stream Stream, data []byte) {
	if len(data) > 0 {
		m.pieces = append(m.pieces, Piece{stream, data})
	}
}

var newline, returnNewline = []byte{'\n'}, []byte("\r\n")

// lastNewline is bytes.LastIndexByte for '\n'. That one looks at every byte in
// turn; in a chunk without a newline the vectorised search from the front is
// many times faster.
func lastNewline(b []byte) int {
	const near = 256 // most lines are shorter
	if i := bytes.LastIndexByte(b[max(0, len(b)-near):], '\n'); i >= 0 {
		return max(0, len(b)-near) + i
	}
	if bytes.IndexByte(b, '\n') < 0 {
		return -1
	}
	return bytes.LastIndexByte(b, '\n')
}

// reuse empties b for the next use, or drops it if it has grown beyond keep.
func reuse(b []byte, keep int) []byte {
	if cap(b) > keep {
		return nil
	}
	return b[:0]
}
