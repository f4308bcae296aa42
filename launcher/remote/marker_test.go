package remote

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestScannerFindsMessages(t *testing.T) {
	const m = "gorun-0123456789abcdef"
	long := strings.Repeat("x", maxMessage+1)
	tests := []struct {
		name, stream string
		want         []string
		rest         string
	}{
		{"alone", m + " start\n", []string{"start"}, ""},
		{"after a line", "Welcome\n" + m + " start\nbytes", []string{"start"}, "bytes"},
		{"behind a prompt", "node1> " + m + " start\n", []string{"start"}, ""},
		{"behind its own beginning", "gorun-0123gorun-0123456789abcde" + m + " start\n", []string{"start"}, ""},
		{"several", m + " need gzip\n" + m + " start\n", []string{"need gzip", "start"}, ""},
		{"another marker", "gorun-fedcba9876543210 start\n", nil, ""},
		{"no newline", m + " start", nil, ""},
		{"too long", m + " " + long + "\n" + m + " start\n", []string{"start"}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, step := range []int{1, 7, 1 << 20} {
				got, rest := scanAll(m, []byte(tt.stream), len(tt.want), func() int { return step })
				require.Equal(t, tt.want, got)
				if len(tt.want) > 0 {
					require.Equal(t, tt.rest, string(rest))
				}
			}
		})
	}
}

// scanAll feeds stream piece by piece until want messages have come, and
// returns them and what follows.
func scanAll(marker string, stream []byte, want int, step func() int) (got []string, rest []byte) {
	s := newScanner(marker)
	for len(stream) > 0 {
		piece := stream[:min(step(), len(stream))]
		for len(piece) > 0 {
			text, n, ok := s.scan(piece)
			piece, stream = piece[n:], stream[n:]
			if ok {
				got = append(got, text)
				if len(got) == want {
					return got, stream
				}
			}
		}
	}
	return got, nil
}

func TestScannerKeepsTheLastNoise(t *testing.T) {
	s := newScanner("gorun-00")
	s.scan([]byte(strings.Repeat("early\n", noiseKept)))
	s.scan([]byte("late g\ngorun-0"))
	s.scan([]byte("1 not ours"))
	require.True(t, strings.HasSuffix(s.noise.text(), "late g\ngorun-01 not ours"), "kept %q", s.noise.text()[noiseKept-40:])
	require.LessOrEqual(t, len(s.noise.kept), noiseKept)
	require.EqualValues(t, 6*noiseKept+24, s.noise.total)
}

func TestAgentStderrGoesWhereItBelongs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shells := rapid.StringMatching(`(gorun-|[a-z\n]){0,40}`).Draw(t, "shells")
		agent := rapid.String().Draw(t, "agent")
		stream := shells + "gorun-00 start\n" + agent
		var out bytes.Buffer
		e := &agentStderr{to: &out, scanner: newScanner("gorun-00")}
		for len(stream) > 0 {
			n := rapid.IntRange(1, len(stream)).Draw(t, "n")
			_, err := e.Write([]byte(stream[:n]))
			require.NoError(t, err)
			stream = stream[n:]
		}
		require.Equal(t, agent, out.String())
		require.Equal(t, strings.TrimSpace(shells), e.shells())
	})
}

// Whatever a shell prints and however the stream is cut into pieces, the
// message is found and not a byte of what follows is lost.
func FuzzScanner(f *testing.F) {
	f.Add([]byte("Last login: today\n"), []byte("rest"), byte(3))
	f.Add([]byte("gorun-"), []byte("gorun-0123456789abcdef start\n"), byte(1))
	f.Add([]byte("gorun-0123456789abcdef"), []byte{}, byte(255))
	f.Fuzz(func(t *testing.T, noise, rest []byte, step byte) {
		const m = "gorun-0123456789abcdef"
		if bytes.Contains(append(noise, m[0]), []byte(m+" ")) {
			t.Skip("this noise has a message")
		}
		stream := bytes.Join([][]byte{noise, []byte(m + " start\n"), rest}, nil)
		got, after := scanAll(m, stream, 1, func() int { return int(step) + 1 })
		require.Equal(t, []string{"start"}, got)
		require.Equal(t, string(rest), string(after))
	})
}
