package stdio_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gorun/gorun/launcher/stdio"
)

// script is a random run of a small job: what its sources write, in which
// chunks, and what comes out. Each source has a letter of its own, so that a
// byte tells who wrote it.
type script struct {
	// lengths are those of runs of letters. A newline follows some of them; with
	// blank set, also those of length 0.
	lengths []int
	blank   bool
	// prompts lets time pass and flushes; early closes sources between chunks.
	prompts, early bool

	config stdio.Config
	merger *stdio.Merger
	input  []bytes.Buffer  // by source, that is rank and stream
	output []bytes.Buffer  // the same, as attributed by call, or by letter for flushes
	screen [2]bytes.Buffer // by destination
}

var anyLength = []int{0, 1, 2, 7, 80, 30_000, 70_000}

func letter(source int) byte { return 'a' + byte(source) }

// run draws a job and what happens in it, until all sources are closed. check is
// called after each step.
func (s *script) run(t *rapid.T, check func(source int)) {
	size := rapid.IntRange(1, 4).Draw(t, "size")
	for rank := range size {
		s.config.Ranks = append(s.config.Ranks, stdio.Rank{Host: fmt.Sprintf("N%d", rank/2)})
	}
	s.config.Screen = -1
	s.config.Stdin = rapid.IntRange(-1, size).Draw(t, "stdin")
	s.config.SameDestination = rapid.Bool().Draw(t, "same destination")
	s.merger = stdio.NewMerger(s.config)
	s.input = make([]bytes.Buffer, 2*size)
	s.output = make([]bytes.Buffer, 2*size)
	closed := make([]bool, 2*size)

	now := start
	for range rapid.IntRange(0, 60).Draw(t, "steps") {
		source := rapid.IntRange(0, 2*size-1).Draw(t, "source")
		switch action := rapid.IntRange(0, 9).Draw(t, "action"); {
		case action == 0 && s.early:
			s.close(source)
			closed[source] = true
		case action <= 2 && s.prompts:
			now = now.Add(time.Duration(rapid.IntRange(0, 150).Draw(t, "ms")) * time.Millisecond)
			s.flush(now)
		case !closed[source]:
			data := s.chunk(t, letter(source))
			s.input[source].Write(data)
			s.take(source, s.merger.Add(now, stdio.Chunk{
				Rank: source / 2, Stream: stdio.Stream(source % 2), Time: now, Data: data,
			}))
			clear(data) // the caller may reuse it before the next call
		}
		check(source)
	}
	for source := range closed {
		s.close(source)
	}
	require.Zero(t, s.merger.Deadline())
}

// chunk draws what one read of a source's pipe returned.
func (s *script) chunk(t *rapid.T, letter byte) []byte {
	var b []byte
	for range rapid.IntRange(1, 5).Draw(t, "parts") {
		n := rapid.SampledFrom(s.lengths).Draw(t, "length")
		b = append(b, bytes.Repeat([]byte{letter}, n)...)
		if (n > 0 || s.blank) && rapid.Bool().Draw(t, "newline") {
			b = append(b, '\n')
		}
	}
	return b
}

func (s *script) flush(now time.Time) {
	for _, p := range s.merger.Flush(now) {
		s.show(p)
		for source := range s.output {
			if bytes.IndexByte(p.Data, letter(source)) >= 0 {
				s.output[source].Write(p.Data)
			}
		}
	}
}

func (s *script) close(source int) {
	s.take(source, s.merger.Close(source/2, stdio.Stream(source%2)))
}

func (s *script) take(source int, pieces []stdio.Piece) {
	for _, p := range pieces {
		s.show(p)
		s.output[source].Write(p.Data)
	}
}

func (s *script) show(p stdio.Piece) {
	if s.config.SameDestination {
		p.Stream = stdio.Stdout
	}
	s.screen[p.Stream].Write(p.Data)
}

// Untagged, what a source wrote is what comes out, byte for byte, and little of
// it is held back at any time.
func untaggedBytes(t *rapid.T) {
	s := script{lengths: anyLength, blank: true, prompts: true, early: true}
	s.config.Raw = rapid.Bool().Draw(t, "raw")
	s.run(t, func(source int) {
		held := s.input[source].Len() - s.output[source].Len()
		require.Less(t, held, stdio.MaxHeld)
		if s.config.Raw {
			require.Zero(t, held)
		}
	})
	for source := range s.input {
		require.True(t, bytes.Equal(s.input[source].Bytes(), s.output[source].Bytes()), "source %d", source)
	}
}

// Untagged, lines that are not too long come out undamaged as long as no prompt
// is flushed and no source ends in the middle of a line.
func untaggedLines(t *rapid.T) {
	s := script{lengths: []int{0, 1, 2, 7, 80}, blank: true}
	s.run(t, func(int) {})
	shown := map[string]int{}
	for i := range s.screen {
		for line := range strings.Lines(s.screen[i].String()) {
			shown[line]++
		}
	}
	for source := range s.input {
		for line := range strings.Lines(s.input[source].String()) {
			if strings.HasSuffix(line, "\n") {
				shown[line]--
				require.GreaterOrEqual(t, shown[line], 0, "line %q is missing or damaged", line)
			}
		}
	}
}

// Tagged, every line begins with one tag and has bytes of one source; lines and
// their continuations add up to what the source wrote.
func taggedLines(t *rapid.T) {
	s := script{lengths: anyLength, prompts: true, early: true}
	s.config.Raw = rapid.Bool().Draw(t, "raw")
	var err error
	s.config.Tag, err = stdio.ParseTag(stdio.HostRank)
	require.NoError(t, err)
	s.run(t, func(int) {})

	got := make([]string, len(s.input))
	for i := range s.screen {
		for line := range strings.Lines(s.screen[i].String()) {
			tag, text, _ := strings.Cut(line, "| ")
			text, continued := strings.CutPrefix(text, stdio.Continued)
			require.NotEmpty(t, text, "line %.40q", line)
			source := int(text[0] - letter(0))
			require.Equal(t, fmt.Sprintf("N%d:%d", source/4, source/2), tag, "line %.40q", line)
			letters := strings.TrimSuffix(text, "\n")
			require.Equal(t, len(letters), strings.Count(letters, letters[:1]), "line %.40q", line)
			if continued {
				require.True(t, strings.HasSuffix(got[source], "\n"), "line %.40q continues nothing", line)
				got[source] = strings.TrimSuffix(got[source], "\n")
			}
			got[source] += text
		}
	}
	for source := range s.input {
		// The last line may have been ended because another source's follows.
		want := s.input[source].String()
		require.True(t, got[source] == want || got[source] == want+"\n", "source %d", source)
	}
}

func TestProperties(t *testing.T) {
	t.Run("untagged bytes", rapid.MakeCheck(untaggedBytes))
	t.Run("untagged lines", rapid.MakeCheck(untaggedLines))
	t.Run("tagged lines", rapid.MakeCheck(taggedLines))
}

func FuzzUntagged(f *testing.F) { f.Fuzz(rapid.MakeFuzz(untaggedBytes)) }

func FuzzTagged(f *testing.F) { f.Fuzz(rapid.MakeFuzz(taggedLines)) }
