package stdio_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gorun/gorun/launcher/stdio"
)

func TestTail(t *testing.T) {
	var numbers strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&numbers, "line %03d\n", i) // 9 bytes; 455 of them fit
	}
	tests := map[string]struct{ input, want string }{
		"nothing":               {"", ""},
		"little":                {"error: x\nat y\n", "error: x\nat y\n"},
		"no last newline":       {"error: x\nat y", "error: x\nat y"},
		"as much as fits":       {strings.Repeat("x", stdio.MaxTail), strings.Repeat("x", stdio.MaxTail)},
		"whole lines":           {numbers.String(), numbers.String()[9*545:]},
		"lines, then a part":    {numbers.String() + "abcdefgh", numbers.String()[9*546:] + "abcdefgh"},
		"a line too long":       {strings.Repeat("x", 10_000) + "y", strings.Repeat("x", stdio.MaxTail-1) + "y"},
		"a line too long ended": {strings.Repeat("x", 10_000) + "\n", strings.Repeat("x", stdio.MaxTail-1) + "\n"},
	}
	for name, test := range tests {
		for _, size := range []int{1, 1000, 1 << 20} {
			t.Run(fmt.Sprint(name, " by ", size), func(t *testing.T) {
				var tail stdio.Tail
				for rest := []byte(test.input); len(rest) > 0; {
					n, err := tail.Write(rest[:min(size, len(rest))])
					require.NoError(t, err)
					rest = rest[n:]
				}
				require.Equal(t, test.want, string(tail.Bytes()))
			})
		}
	}
}

// However it is cut into writes, the tail is an end of the input, is not too
// long, and starts where a line does.
func TestTailProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var tail stdio.Tail
		var input []byte
		for range rapid.IntRange(0, 20).Draw(t, "writes") {
			p := bytes.Repeat([]byte{'x'}, rapid.IntRange(0, 5000).Draw(t, "length"))
			for range rapid.IntRange(0, 9).Draw(t, "newlines") {
				if len(p) > 0 {
					p[rapid.IntRange(0, len(p)-1).Draw(t, "at")] = '\n'
				}
			}
			input = append(input, p...)
			n, err := tail.Write(p)
			require.NoError(t, err)
			require.Equal(t, len(p), n)
			clear(p)
		}
		got := tail.Bytes()
		require.LessOrEqual(t, len(got), stdio.MaxTail)
		require.True(t, bytes.HasSuffix(input, got))
		before := input[:len(input)-len(got)]
		if len(before) > 0 && len(got) < stdio.MaxTail {
			require.Equal(t, byte('\n'), before[len(before)-1])
		}
	})
}
