package stdio

import (
	"bytes"
	"time"
	"unicode/utf8"
)

// On a terminal, a line that a rank redraws behind carriage returns, a progress
// bar, stands below everything else while it is unfinished. What is written
// meanwhile goes above it. Of several such lines of one terminal the one that was
// first is shown; each takes its place among the others with its last state when
// its newline comes. It is drawn no more often than every [PromptDelay], and no
// wider than the terminal, since a carriage return does not lead back over a
// line break.

// eraseLine brings the cursor to the beginning of its line and empties that
// (ECMA-48, EL).
const eraseLine = "\r\x1b[K"

// redraws reports whether carriage returns of s are acted on.
func (m *Merger) redraws(s *source) bool {
	return m.conf.Columns[s.stream] > 0 && !m.conf.Raw && s.rank != m.conf.Screen
}

// lastState returns what is left of a line whose beginning was drawn over. A
// carriage return at its very end has drawn over nothing yet.
func lastState(line []byte) []byte {
	return line[bytes.LastIndexByte(bytes.TrimRight(line, "\r"), '\r')+1:]
}

// redraw takes what s holds for a bar.
func (m *Merger) redraw(s *source, at time.Time) {
	s.held = append(s.held[:0], lastState(s.held)...)
	s.heldAt, s.dirty = at, true
	if !s.bar {
		s.bar, s.begun = true, false
		m.bars = append(m.bars, s)
	}
}

// endBar ends the bar of s, if it has one.
func (m *Merger) endBar(s *source) {
	if !s.bar {
		return
	}
	s.bar, s.dirty = false, false
	for i, b := range m.bars {
		if b == s {
			m.bars = append(m.bars[:i], m.bars[i+1:]...)
			break
		}
	}
	if d := m.destination(s.stream); d.bar == s {
		d.bar = nil
	}
}

// nextBar returns when the bar of s is to be drawn; not ok if it is not.
func (m *Merger) nextBar(s *source) (due time.Time, ok bool) {
	d := m.destination(s.stream)
	if !s.dirty || d.bar != nil && d.bar != s {
		return time.Time{}, false
	}
	return d.drawn.Add(PromptDelay), true
}

// draw draws the bar of s where the cursor stands, or in place of what is
// drawn there.
func (m *Merger) draw(s *source, now time.Time) {
	d := m.destination(s.stream)
	start := len(m.scratch)
	switch {
	case d.midLine && d.last == s:
		m.scratch = append(m.scratch, eraseLine...)
	case d.midLine:
		m.scratch = append(m.scratch, m.lineEnd(s.stream)...)
	}
	m.appendBar(s)
	m.add(s.stream, m.scratch[start:])
	d.drawn = now
}

// appendBar appends the bar of s to the scratch buffer.
func (m *Merger) appendBar(s *source) {
	d := m.destination(s.stream)
	tag := m.tag(s, s.heldAt)
	m.scratch = append(m.scratch, tag...)
	room := m.conf.Columns[s.stream] - 1 - utf8.RuneCount(tag)
	m.scratch = append(m.scratch, fitting(bytes.TrimRight(s.held, "\r"), room)...)
	d.bar, d.last, d.midLine, s.dirty = s, s, true, false
}

// eraseBar makes room for lines where a bar is drawn.
func (m *Merger) eraseBar(d *destination) {
	if d.bar != nil {
		m.scratch = append(m.scratch, eraseLine...)
		d.midLine = false
	}
}

// restoreBar draws the bar again, below what was written over it.
func (m *Merger) restoreBar(d *destination) {
	switch {
	case d.bar == nil:
	case d.midLine: // of a prompt, say, behind which the bar waits its turn
		d.bar.dirty = true
		d.bar = nil
	default:
		m.appendBar(d.bar)
	}
}

// fitting returns the beginning of text that takes at most so many columns.
// Escape sequences take none (ECMA-48, CSI).
func fitting(text []byte, columns int) []byte {
	for i := 0; i < len(text); {
		if text[i] == 0x1b && i+1 < len(text) && text[i+1] == '[' {
			end := i + 2
			for end < len(text) && (text[end] < 0x40 || text[end] > 0x7e) {
				end++
			}
			i = min(end+1, len(text))
			continue
		}
		if columns--; columns < 0 {
			return text[:i]
		}
		_, size := utf8.DecodeRune(text[i:])
		i += size
	}
	return text
}
