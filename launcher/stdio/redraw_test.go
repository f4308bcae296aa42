package stdio_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/launcher/stdio"
)

// screen is what a person sees of a terminal of 30 columns that knows newlines,
// carriage returns and the erasing of a line.
type screen struct {
	lines   [][]byte
	column  int
	written int
}

func (s *screen) write(t *testing.T, pieces []stdio.Piece) {
	for _, p := range pieces {
		s.written += len(p.Data)
		for rest := string(p.Data); rest != ""; {
			if s.lines == nil {
				s.lines = [][]byte{nil}
			}
			last := len(s.lines) - 1
			switch {
			case strings.HasPrefix(rest, "\x1b[K"):
				s.lines[last] = s.lines[last][:min(s.column, len(s.lines[last]))]
				rest = rest[3:]
				continue
			case rest[0] == '\r':
				s.column = 0
			case rest[0] == '\n':
				s.lines = append(s.lines, nil)
				s.column = 0
			default:
				require.Less(t, s.column, 30, "a line break")
				line := s.lines[last]
				s.lines[last] = append(line[:min(s.column, len(line))], rest[0])
				s.column++
			}
			rest = rest[1:]
		}
	}
}

func (s *screen) String() string {
	var lines []string
	for _, l := range s.lines {
		lines = append(lines, string(l))
	}
	return strings.Join(lines, "\n")
}

// bars is a job of three ranks on a terminal.
type bars struct {
	*stdio.Merger
	screen
	now time.Time
}

func newBars(t *testing.T, tag string) *bars {
	conf := stdio.Config{Screen: -1, Stdin: -1, Ranks: on("a", "b", "c"), Tag: parseTag(t, tag), SameDestination: true}
	conf.Columns[stdio.Stdout], conf.Columns[stdio.Stderr] = 30, 30
	return &bars{Merger: stdio.NewMerger(conf), now: start}
}

func (b *bars) say(t *testing.T, rank int, text string) {
	b.write(t, b.Add(b.now, stdio.Chunk{Rank: rank, Stream: stdio.Stderr, Time: b.now, Data: []byte(text)}))
}

// pass lets time pass and what is due be drawn.
func (b *bars) pass(t *testing.T, d time.Duration) {
	b.now = b.now.Add(d)
	if due := b.Deadline(); !due.IsZero() && !due.After(b.now) {
		b.write(t, b.Flush(b.now))
	}
}

func TestAProgressBarIsRewrittenInPlace(t *testing.T) {
	for name, form := range map[string]string{"behind its carriage return": "\r%d %%", "before it": "%d %%\r"} {
		for tag, prefix := range map[string]string{"": "", stdio.HostRank: "b:1| "} {
			t.Run(name+tag, func(t *testing.T) {
				b := newBars(t, tag)
				for i := range 1000 {
					b.say(t, 1, fmt.Sprintf(form, i))
					b.pass(t, time.Millisecond)
					if i == 500 {
						require.Regexp(t, "^"+strings.ReplaceAll(prefix, "|", `\|`)+`[45]\d\d %$`, b.String())
					}
				}
				require.Less(t, b.written, 400, "drawn far too often")
				b.say(t, 1, "\rdone\n")
				require.Equal(t, prefix+"done\n", b.String())
				require.Zero(t, b.Deadline())
			})
		}
	}
}

func TestLinesGoAboveAProgressBar(t *testing.T) {
	b := newBars(t, stdio.HostRank)
	b.say(t, 0, "\r10 %")
	b.pass(t, stdio.PromptDelay)
	b.say(t, 1, "loss 0.5\nloss 0.4\n")
	require.Equal(t, "b:1| loss 0.5\nb:1| loss 0.4\na:0| 10 %", b.String())
	b.say(t, 0, "\r20 %")
	b.pass(t, stdio.PromptDelay)
	b.say(t, 2, "end\n")
	require.Equal(t, "b:1| loss 0.5\nb:1| loss 0.4\nc:2| end\na:0| 20 %", b.String())
	b.write(t, b.Close(0, stdio.Stderr))
	b.say(t, 1, "more\n")
	require.Equal(t, "b:1| loss 0.5\nb:1| loss 0.4\nc:2| end\na:0| 20 %\nb:1| more\n", b.String())
}

func TestOfSeveralProgressBarsOneIsShownAtATime(t *testing.T) {
	b := newBars(t, stdio.HostRank)
	for i := range 10 {
		for rank := range 3 {
			b.say(t, rank, fmt.Sprintf("\r%d0 %%", i))
		}
		b.pass(t, stdio.PromptDelay)
		require.Equal(t, fmt.Sprintf("a:0| %d0 %%", i), b.String())
	}
	b.say(t, 1, "\r100 %\n")
	require.Equal(t, "b:1| 100 %\na:0| 90 %", b.String())
	b.say(t, 0, "\r100 %\n")
	b.pass(t, stdio.PromptDelay)
	require.Equal(t, "b:1| 100 %\na:0| 100 %\nc:2| 90 %", b.String(), "the next one's turn")
}

func TestAProgressBarFitsItsTerminal(t *testing.T) {
	b := newBars(t, stdio.HostRank)
	b.say(t, 0, "\r\x1b[32m"+strings.Repeat("█", 50))
	b.now = b.now.Add(stdio.PromptDelay)
	pieces := b.Flush(b.now)
	require.Len(t, pieces, 1)
	require.Equal(t, "a:0| \x1b[32m"+strings.Repeat("█", 30-1-len("a:0| ")), string(pieces[0].Data))
}

func TestCarriageReturnsAreFewOnATerminalOnly(t *testing.T) {
	const text = "\r1 %\r2 %\r3 %\ncrlf\r\n"
	for name, c := range map[string]struct {
		columns int
		raw     bool
		want    string
	}{
		"a terminal":       {80, false, "3 %\ncrlf\n"},
		"a raw terminal":   {80, true, text},
		"a file or a pipe": {0, false, text},
	} {
		t.Run(name, func(t *testing.T) {
			conf := stdio.Config{Screen: -1, Stdin: -1, Ranks: on("a", "b"), Raw: c.raw}
			conf.Columns[stdio.Stdout] = c.columns
			m := stdio.NewMerger(conf)
			var got capture
			got.write(m.Add(start, stdio.Chunk{Data: []byte(text)}))
			require.Equal(t, c.want, got.out.String())
		})
	}
}

func TestARanksOwnTerminal(t *testing.T) {
	conf := stdio.Config{Screen: 1, Stdin: 1, Ranks: on("a", "b"), Tag: parseTag(t, "{rank}| "), SameDestination: true}
	conf.Columns[stdio.Stdout], conf.Columns[stdio.Stderr] = 80, 80
	m := stdio.NewMerger(conf)
	var got terminal
	got.write(m.Add(start, stdio.Chunk{Rank: 1, Data: []byte("\x1b[H(Pdb) ")}))
	got.write(m.Add(start, stdio.Chunk{Rank: 0, Data: []byte("one\ntwo\n")}))
	got.write(m.Add(start, stdio.Chunk{Rank: 1, Data: []byte("\r\x1b[K\n")}))
	require.Equal(t, "\x1b[H(Pdb) \r\n0| one\r\n0| two\r\n\r\x1b[K\n", got.String())
}
