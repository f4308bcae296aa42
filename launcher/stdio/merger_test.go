package stdio_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/launcher/stdio"
)

// start is the launcher's clock at the beginning of each test.
var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// capture stands for the launcher's two streams.
type capture struct{ out, err bytes.Buffer }

func (c *capture) write(pieces []stdio.Piece) {
	for _, p := range pieces {
		if p.Stream == stdio.Stdout {
			c.out.Write(p.Data)
		} else {
			c.err.Write(p.Data)
		}
	}
}

// terminal stands for one place where both streams end.
type terminal struct{ bytes.Buffer }

func (t *terminal) write(pieces []stdio.Piece) {
	for _, p := range pieces {
		t.Write(p.Data)
	}
}

// on returns ranks, one on each of the hosts.
func on(hosts ...string) (ranks []stdio.Rank) {
	for _, name := range hosts {
		ranks = append(ranks, stdio.Rank{Host: name})
	}
	return ranks
}

func parseTag(t *testing.T, s string) stdio.Tag {
	tag, err := stdio.ParseTag(s)
	require.NoError(t, err)
	return tag
}

func TestLinesStayWhole(t *testing.T) {
	m := stdio.NewMerger(stdio.Config{Screen: -1, Ranks: on("a", "b"), Stdin: -1})
	var got capture
	add := func(rank int, stream stdio.Stream, data string) {
		got.write(m.Add(start, stdio.Chunk{Rank: rank, Stream: stream, Data: []byte(data)}))
	}
	add(0, stdio.Stdout, "step ")
	add(1, stdio.Stdout, "other\nst")
	add(0, stdio.Stderr, "warn")
	require.Equal(t, "other\n", got.out.String())
	require.False(t, m.MidLine(stdio.Stdout))
	add(0, stdio.Stdout, "1\nstep 2\nste")
	add(1, stdio.Stdout, "ep\n")
	require.Equal(t, "other\nstep 1\nstep 2\nstep\n", got.out.String())

	got.write(m.Close(0, stdio.Stdout))
	got.write(m.Close(0, stdio.Stderr))
	require.Equal(t, "other\nstep 1\nstep 2\nstep\nste", got.out.String(), "end of file releases the last line")
	require.Equal(t, "warn", got.err.String())
	require.True(t, m.MidLine(stdio.Stdout))
	require.Empty(t, m.Close(0, stdio.Stderr), "closed already")
}

func TestBytesPassUnharmed(t *testing.T) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	var numbers bytes.Buffer
	for i := range 10_000 {
		fmt.Fprintln(&numbers, i)
	}
	tests := map[string][]byte{
		"nothing":       nil,
		"numbers":       numbers.Bytes(),
		"every byte":    bytes.Repeat(all, 1000),
		"one long line": bytes.Repeat([]byte("0123456789abcde\x00"), 5<<20/16),
		"progress bar":  bytes.Repeat([]byte("\r[====>   ] 42 %"), 10_000),
		"empty lines":   bytes.Repeat([]byte("\n"), 100_000),
		"CRLF":          bytes.Repeat([]byte("line\r\n"), 10_000),
		"invalid UTF-8": []byte("\xff\xfe\xc0\x80\n\xff"),
	}
	for name, input := range tests {
		for _, size := range []int{1000, 32 << 10, 1 << 30} {
			t.Run(name, func(t *testing.T) {
				m := stdio.NewMerger(stdio.Config{Screen: -1, Ranks: on("a", "b"), Stdin: -1})
				var got capture
				written := 0
				for rest := input; len(rest) > 0; {
					chunk := rest[:min(size, len(rest))]
					rest = rest[len(chunk):]
					written += len(chunk)
					got.write(m.Add(start, stdio.Chunk{Rank: 1, Data: chunk}))
					require.Less(t, written-got.out.Len(), stdio.MaxHeld, "held back")
				}
				got.write(m.Close(1, stdio.Stdout))
				require.True(t, bytes.Equal(input, got.out.Bytes()))
			})
		}
	}
}

func TestLineOfMaxHeldStaysWhole(t *testing.T) {
	m := stdio.NewMerger(stdio.Config{Screen: -1, Ranks: on("a", "b"), Stdin: -1})
	var got capture
	text := strings.Repeat("x", stdio.MaxHeld-1)
	got.write(m.Add(start, stdio.Chunk{Data: []byte(text)}))
	got.write(m.Add(start, stdio.Chunk{Rank: 1, Data: []byte("other\n")}))
	got.write(m.Add(start, stdio.Chunk{Data: []byte("\n")}))
	require.True(t, got.out.String() == "other\n"+text+"\n")

	got.out.Reset()
	got.write(m.Add(start, stdio.Chunk{Data: []byte(text)}))
	got.write(m.Add(start, stdio.Chunk{Data: []byte("x")}))
	require.Equal(t, stdio.MaxHeld, got.out.Len(), "a longer line is written in pieces")
}

func TestPieceIsSliceOfChunk(t *testing.T) {
	m := stdio.NewMerger(stdio.Config{Screen: -1, Ranks: on("a")})
	data := []byte("one\ntwo\n")
	pieces := m.Add(start, stdio.Chunk{Data: data})
	require.Len(t, pieces, 1)
	require.Same(t, &data[0], &pieces[0].Data[0])
}

func TestPrompts(t *testing.T) {
	const late = stdio.PromptDelay
	tests := map[string]struct {
		stdin  int
		closed []int // ranks
		rank   int   // that prompts
		shown  bool
	}{
		"of the rank that owns stdin":        {stdin: 1, rank: 1, shown: true},
		"of another rank":                    {stdin: 1, rank: 0},
		"when nobody owns stdin":             {stdin: -1, rank: 0},
		"of the last rank":                   {stdin: -1, closed: []int{0, 2}, rank: 1, shown: true},
		"of the last but one":                {stdin: -1, closed: []int{2}, rank: 1},
		"of the last, the owner of stdin":    {stdin: 2, closed: []int{0, 1}, rank: 2, shown: true},
		"of the last, the owner has gone":    {stdin: 0, closed: []int{0, 1}, rank: 2, shown: true},
		"when the owner is not in the world": {stdin: 7, rank: 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := stdio.NewMerger(stdio.Config{Screen: -1, Ranks: on("a", "b", "c"), Stdin: test.stdin})
			for _, rank := range test.closed {
				m.Close(rank, stdio.Stdout)
				m.Close(rank, stdio.Stderr)
			}
			require.Zero(t, m.Deadline())
			require.Empty(t, m.Add(start, stdio.Chunk{Rank: test.rank, Data: []byte("N = ")}))
			if !test.shown {
				require.Zero(t, m.Deadline())
				require.Empty(t, m.Flush(start.Add(time.Hour)))
				return
			}
			require.Equal(t, start.Add(late), m.Deadline())
			m.Add(start.Add(late/2), stdio.Chunk{Rank: test.rank, Data: []byte("? ")})
			require.Equal(t, start.Add(late), m.Deadline(), "the first byte counts")
			require.Empty(t, m.Flush(start.Add(late-1)))

			var got capture
			got.write(m.Flush(start.Add(late)))
			require.Equal(t, "N = ? ", got.out.String())
			require.True(t, m.MidLine(stdio.Stdout))
			require.Zero(t, m.Deadline())
			got.write(m.Add(start.Add(late), stdio.Chunk{Rank: test.rank, Data: []byte("5\n")}))
			require.Equal(t, "N = ? 5\n", got.out.String())
		})
	}
}

// A line that waited becomes due when all other ranks have gone.
func TestLastRankIsFoundLate(t *testing.T) {
	m := stdio.NewMerger(stdio.Config{Screen: -1, Ranks: on("a", "b"), Stdin: -1})
	m.Add(start, stdio.Chunk{Rank: 1, Stream: stdio.Stderr, Data: []byte("err ")})
	m.Add(start.Add(-1), stdio.Chunk{Rank: 1, Data: []byte("out ")})
	require.Zero(t, m.Deadline())
	m.Close(0, stdio.Stdout)
	m.Close(0, stdio.Stderr)
	require.Equal(t, start.Add(stdio.PromptDelay-1), m.Deadline())
	var got terminal
	got.write(m.Flush(start.Add(stdio.PromptDelay)))
	require.Equal(t, "out err ", got.String(), "the oldest first")
}

func TestRawWaitsForNothing(t *testing.T) {
	m := stdio.NewMerger(stdio.Config{Screen: -1, Ranks: on("a", "b"), Raw: true})
	var got capture
	for i, data := range []string{"a", "b\nc", "", "d"} {
		got.write(m.Add(start, stdio.Chunk{Rank: i % 2, Data: []byte(data)}))
	}
	require.Equal(t, "ab\ncd", got.out.String())
}

// TestTags is read as it looks on a terminal: what arrives, then the screen.
func TestTags(t *testing.T) {
	type step struct {
		rank   int
		stream stdio.Stream
		data   string // "": time passes, prompts are flushed
	}
	const o, e = stdio.Stdout, stdio.Stderr
	tests := map[string]struct {
		tag   string
		apart bool // the streams go to different files
		raw   bool
		steps []step
		want  string
	}{
		"lines": {
			tag:   stdio.HostRank,
			steps: []step{{1, o, "a\nb"}, {2, o, "x\n\ny\n"}, {1, o, "c\n"}},
			want:  "n1:1| a\nn1:2| x\nn1:2| \nn1:2| y\nn1:1| bc\n",
		},
		"last line without newline": {
			tag:   stdio.HostRank,
			steps: []step{{1, o, "bye"}, {2, o, "bye"}},
			want:  "n1:1| bye\nn1:2| bye",
		},
		"prompt and answer": {
			tag:   stdio.HostRank,
			steps: []step{{0, o, "N = "}, {}, {0, o, "5\nok\n"}},
			want:  "n0:0| N = 5\nn0:0| ok\n",
		},
		"prompt, another rank, answer": {
			tag:   stdio.HostRank,
			steps: []step{{0, o, "N = "}, {}, {1, o, "hi\n"}, {0, o, "5\nok\n"}},
			want:  "n0:0| N = \nn1:1| hi\nn0:0| ... 5\nn0:0| ok\n",
		},
		"prompt, the same rank's other stream": {
			tag:   stdio.HostRank,
			steps: []step{{0, o, "N = "}, {}, {0, e, "warning\n"}, {0, o, "5\n"}},
			want:  "n0:0| N = \nn0:0| warning\nn0:0| ... 5\n",
		},
		"prompt, another stream that goes elsewhere": {
			tag:   stdio.HostRank,
			apart: true,
			steps: []step{{0, o, "N = "}, {}, {0, e, "warning\n"}, {0, o, "5\n"}},
			want:  "n0:0| N = n0:0| warning\n5\n",
		},
		"a line that ends with nothing more": {
			tag:   stdio.HostRank,
			steps: []step{{0, o, "N = "}, {}, {1, o, "hi\n"}, {0, o, "\n"}},
			want:  "n0:0| N = \nn1:1| hi\nn0:0| ... \n",
		},
		"raw": {
			tag:   stdio.HostRank,
			raw:   true,
			steps: []step{{1, o, "a"}, {1, o, "b"}, {2, o, "x\n"}, {1, o, "c\n"}},
			want:  "n1:1| ab\nn1:2| x\nn1:1| ... c\n",
		},
		"time of the line's first byte": {
			tag:   "{time} {rank}: ",
			steps: []step{{1, o, "a"}, {1, o, "b\nc\n"}, {1, o, "d\n"}},
			want: "2026-03-01T12:00:00.000Z 1: ab\n" +
				"2026-03-01T12:00:00.125Z 1: c\n" +
				"2026-03-01T12:00:00.250Z 1: d\n",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := stdio.NewMerger(stdio.Config{
				Ranks:           on("n0", "n1", "n1"),
				Screen:          -1,
				Tag:             parseTag(t, test.tag),
				SameDestination: !test.apart,
				Raw:             test.raw,
			})
			var got terminal
			now := start
			for _, s := range test.steps {
				if s.data == "" {
					got.write(m.Flush(now))
				} else {
					got.write(m.Add(now, stdio.Chunk{Rank: s.rank, Stream: s.stream, Time: now, Data: []byte(s.data)}))
				}
				now = now.Add(125 * time.Millisecond)
			}
			for rank := range 3 {
				got.write(m.Close(rank, o))
				got.write(m.Close(rank, e))
			}
			require.Equal(t, test.want, got.String())
		})
	}
}

func TestLongTaggedLineGoesOnAfterOthers(t *testing.T) {
	m := stdio.NewMerger(stdio.Config{Screen: -1, Ranks: on("a", "b"), Stdin: -1, Tag: parseTag(t, stdio.HostRank)})
	var got capture
	long := strings.Repeat("x", stdio.MaxHeld)
	got.write(m.Add(start, stdio.Chunk{Data: []byte(long)}))
	got.write(m.Add(start, stdio.Chunk{Data: []byte(long)}))
	got.write(m.Add(start, stdio.Chunk{Rank: 1, Data: []byte("hi\n")}))
	got.write(m.Add(start, stdio.Chunk{Data: []byte("end\n")}))
	require.True(t, got.out.String() == "a:0| "+long+long+"\nb:1| hi\na:0| ... end\n")
}

// What arrives forever must not keep the collector busy.
func TestSteadyOutputDoesNotAllocate(t *testing.T) {
	chunk := bytes.Repeat([]byte("a line of a log that goes on and on\n"), 1000)
	chunk = chunk[:len(chunk)-10] // the last line is unfinished
	for _, tag := range []string{"", stdio.HostRank, "{time}| "} {
		m := stdio.NewMerger(stdio.Config{Screen: -1, Ranks: on("a", "b"), Tag: parseTag(t, tag)})
		now := start
		step := func() {
			now = now.Add(time.Millisecond)
			m.Add(now, stdio.Chunk{Rank: 0, Time: now, Data: chunk})
			m.Add(now, stdio.Chunk{Rank: 1, Time: now, Data: chunk})
		}
		for range 10 {
			step()
		}
		require.Zero(t, testing.AllocsPerRun(100, step), "tag %q", tag)
	}
}

func TestWithoutInputNobodyPrompts(t *testing.T) {
	m := stdio.NewMerger(stdio.Config{Screen: -1, Ranks: on("a", "b"), Stdin: 0})
	m.Add(start, stdio.Chunk{Data: []byte("half a line")})
	require.NotZero(t, m.Deadline())
	m.InputEnded()
	require.Zero(t, m.Deadline())
	require.Empty(t, m.Flush(start.Add(time.Hour)))
}
