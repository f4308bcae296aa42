package codec_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gorun/gorun/rendezvous/internal/codec"
)

type all struct {
	A    uint8
	B    uint32
	C    int64
	D    bool
	E    int
	F    []byte
	G    string
	List []string
}

func (m *all) fields(c *codec.Codec) {
	c.Uint8(&m.A)
	c.Uint32(&m.B)
	c.Int64(&m.C)
	c.Bool(&m.D)
	c.Int(&m.E, 1000)
	c.Bytes(&m.F, 100)
	c.String(&m.G, 100)
	codec.List(c, &m.List, 10, 4, func(s *string) { c.String(s, 10) })
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sent := all{
			A: rapid.Uint8().Draw(t, "A"), B: rapid.Uint32().Draw(t, "B"), C: rapid.Int64().Draw(t, "C"),
			D: rapid.Bool().Draw(t, "D"), E: rapid.IntRange(0, 1000).Draw(t, "E"),
			F: rapid.SliceOfN(rapid.Byte(), 1, 100).Draw(t, "F"), G: rapid.StringN(0, -1, 100).Draw(t, "G"),
			List: rapid.SliceOfN(rapid.StringN(0, -1, 10), 1, 10).Draw(t, "List"),
		}
		c := codec.Writer(nil)
		sent.fields(c)
		b, err := c.Written()
		require.NoError(t, err)

		var got all
		c = codec.Reader(b)
		got.fields(c)
		require.NoError(t, c.End())
		require.Equal(t, sent, got)

		for i := range b { // no beginning of it is a message
			c = codec.Reader(b[:i])
			new(all).fields(c)
			require.Error(t, c.End())
		}
	})
}

func TestLimits(t *testing.T) {
	for name, m := range map[string]all{
		"negative": {E: -1},
		"number":   {E: 1001},
		"bytes":    {F: make([]byte, 101)},
		"string":   {G: string(make([]byte, 101))},
		"list":     {List: make([]string, 11)},
		"element":  {List: []string{"more than ten"}},
	} {
		c := codec.Writer(nil)
		m.fields(c)
		_, err := c.Written()
		require.ErrorContains(t, err, "want 0 to", name)
	}
}

// A length is checked against what is there before anything is made of it.
func TestLengthsAreNotBelieved(t *testing.T) {
	c := codec.Reader([]byte{0x7f, 0xff, 0xff, 0xff, 1, 2, 3})
	var list []string
	codec.List(c, &list, 1<<31-1, 4, func(s *string) { c.String(s, 10) })
	require.ErrorContains(t, c.End(), "too short")
	require.Empty(t, list)
}
