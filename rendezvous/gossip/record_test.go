package gossip

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/rendezvous"
	"github.com/gorun/gorun/rendezvous/internal/codec"
)

// takeApart reads a message and its records, and writes them again.
func takeApart(b []byte) ([]byte, error) {
	var m message
	c := codec.Reader(b)
	m.fields(c)
	if err := c.End(); err != nil {
		return nil, err
	}
	for i := range m.records {
		epoch, r, err := read(m.records[i])
		if err != nil {
			return nil, err
		}
		if m.records[i], err = write(epoch, r); err != nil {
			return nil, err
		}
	}
	c = codec.Writer(nil)
	m.fields(c)
	return c.Written()
}

func sample(t testing.TB) []byte {
	m := message{from: 3, heard: true}
	for _, r := range []record{
		&value{"key", []byte("value")},
		&arrivals{"name", []arrival{{1, []byte("one")}, {2, nil}}},
		&event{[]byte("form")},
		&unheard{1, 2, "why"},
		&leaving{3},
		&hosts{"name", []span{{0, 3}, {5, 5}}},
		&wanted{1, 2, "key"},
		&offered{1, "key", []byte("value")},
	} {
		b, err := write(0, r)
		require.NoError(t, err)
		m.records = append(m.records, b)
	}
	c := codec.Writer(nil)
	m.fields(c)
	b, err := c.Written()
	require.NoError(t, err)
	return b
}

// What can be read is written as it was.
func FuzzMessage(f *testing.F) {
	f.Add(sample(f))
	f.Fuzz(func(t *testing.T, b []byte) {
		again, err := takeApart(b)
		if err == nil {
			require.Equal(t, b, again)
		}
	})
}

// spansOf returns the record of hosts with these numbers as its spans.
func spansOf(t testing.TB, numbers ...uint32) []byte {
	b, err := write(0, &hosts{name: "name"})
	require.NoError(t, err)
	b = binary.BigEndian.AppendUint32(b[:len(b)-4], uint32(len(numbers)/2))
	for _, number := range numbers {
		b = binary.BigEndian.AppendUint32(b, number)
	}
	return b
}

// A short record stands for each node at most once, however it counts them.
func FuzzSpans(f *testing.F) {
	f.Add(spansOf(f, 0, 3, 5, 5))
	f.Add(spansOf(f, 0, 3, 3, 5))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, r, err := read(b)
		h, ok := r.(*hosts)
		if err != nil || !ok {
			return
		}
		sum := 0
		for _, s := range h.nodes {
			require.LessOrEqual(t, s.first, s.last)
			sum += s.last - s.first + 1
		}
		require.LessOrEqual(t, sum, maxNodes)
	})
}

func TestSpansRefused(t *testing.T) {
	_, _, err := read(spansOf(t, 0, 3, 4, 5))
	require.NoError(t, err)
	for _, tc := range []struct {
		name    string
		numbers []uint32
	}{
		{"the same twice", []uint32{0, 3, 0, 3}},
		{"overlapping", []uint32{0, 3, 3, 5}},
		{"descending", []uint32{4, 5, 0, 3}},
		{"backwards", []uint32{3, 0}},
		{"no node", []uint32{0, maxNodes}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, _, err := read(spansOf(t, tc.numbers...))
			require.Error(t, err)
		})
	}
}

func TestArrivalsAreSplit(t *testing.T) {
	var came []arrival
	for rank := range 5 {
		came = append(came, arrival{rank, make([]byte, rendezvous.MaxValue/2)})
	}
	came = append(came, arrival{5, make([]byte, rendezvous.MaxValue)})
	next := 0
	for _, r := range split("name", came) {
		_, err := write(0, r)
		require.NoError(t, err)
		for _, a := range r.came {
			require.Equal(t, next, a.rank)
			next++
		}
	}
	require.Equal(t, len(came), next)
	require.Empty(t, split("name", nil))
}

func TestMessageRefused(t *testing.T) {
	b := sample(t)
	for i := range b {
		_, err := takeApart(b[:i])
		require.Error(t, err)
	}
	_, err := takeApart(append(b, 0))
	require.ErrorContains(t, err, "1 bytes after the message")
	_, _, err = read([]byte{99})
	require.ErrorContains(t, err, "unknown kind of record 99")
}
