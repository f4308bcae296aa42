package rendezvous

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/rankenv"
)

// samples has a message of every kind.
var samples = []message{
	&helloMsg{protocolMagic, protocolVersion, 0, 3, 4},
	&putMsg{keyed{"key", []byte("value")}},
	&getMsg{"key"},
	&exchangeMsg{keyed{"name", []byte{}}},
	&lostMsg{},
	&eventsMsg{},
	&cancelMsg{},
	&barrierMsg{"name"},
	&offerMsg{keyed{"key", []byte("value")}},
	&fetchMsg{3, "key"},
	&nextMsg{},
	&placeMsg{rankenv.World{Rank: 1, Size: 3, LocalRank: 1, LocalSize: 2, Node: 0, Nodes: 2, Host: "a"}, []int{2}},
	&welcomeMsg{protocolMagic, protocolVersion, []int{1, 0}},
	&doneMsg{},
	&valueMsg{[]byte("value")},
	&valuesMsg{[][]byte{[]byte("one"), {}}},
	&eventMsg{Event{Time: time.Unix(1, 2), Kind: Lost, Host: "a", Cause: "why", Ranks: []int{1}}},
	&ranksMsg{[]int{2, 3}},
	&failedMsg{codeMissing, "text", "what", []int{1}, []string{"a"}},
}

func TestFrames(t *testing.T) {
	var stream bytes.Buffer
	for i, m := range samples {
		b, err := frame(uint32(i), m)
		require.NoError(t, err)
		stream.Write(b)
	}
	whole := bytes.Clone(stream.Bytes())
	for i, want := range samples {
		id, m, err := readFrame(&stream)
		require.NoError(t, err)
		require.Equal(t, uint32(i), id)
		require.Equal(t, want, m)
	}
	_, _, err := readFrame(&stream)
	require.Equal(t, io.EOF, err)
	_, _, err = readFrame(bytes.NewReader(whole[:12]))
	require.Equal(t, io.ErrUnexpectedEOF, err)
}

func TestFramesRefused(t *testing.T) {
	for _, tc := range []struct {
		name, frame, want string
	}{
		{"too long", "\xff\xff\xff\xff\x02\x00\x00\x00\x01", "frame of 4294967295 bytes"},
		{"too short", "\x00\x00\x00\x04\x02\x00\x00\x00\x01", "frame of 4 bytes"},
		{"unknown kind", "\x00\x00\x00\x05\xee\x00\x00\x00\x01", "unknown message kind 238"},
		{"left over", "\x00\x00\x00\x06\x41\x00\x00\x00\x01x", "1 bytes after the message"},
		{"long list", "\x00\x00\x00\x09\x43\x00\x00\x00\x01\x00\x0f\xff\xff", "too short"},
		{"long key", "\x00\x00\x00\x09\x03\x00\x00\x00\x01\x00\x00\x01\x00", "number is 256, want 0 to 255"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, _, err := readFrame(bytes.NewReader([]byte(tc.frame)))
			require.ErrorContains(t, err, tc.want)
		})
	}
}

func TestErrorsCross(t *testing.T) {
	for _, known := range []error{ErrExists, ErrStale, ErrClosed} {
		err := failure(known).err(nil)
		require.ErrorIs(t, err, known)
		require.Equal(t, known.Error(), err.Error())
	}
	sent := &MissingError{What: "key", Ranks: []int{1, 2}, Hosts: []string{"a"}, Err: context.Canceled}
	got, ok := errors.AsType[*MissingError](failure(sent).err(context.DeadlineExceeded))
	require.True(t, ok)
	require.Equal(t, sent.Ranks, got.Ranks)
	require.ErrorIs(t, got, context.DeadlineExceeded)
}

// What can be read is written as it was.
func FuzzFrame(f *testing.F) {
	for i, m := range samples {
		b, err := frame(uint32(i), m)
		require.NoError(f, err)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r := bytes.NewReader(b)
		id, m, err := readFrame(r)
		if err != nil {
			return
		}
		again, err := frame(id, m)
		require.NoError(t, err)
		require.Equal(t, b[:len(b)-r.Len()], again)
	})
}

func FuzzEvent(f *testing.F) {
	b, err := Event{Time: time.Unix(1, 2), Kind: Lost, Host: "a", Cause: "why", Ranks: []int{1}}.AppendBinary(nil)
	require.NoError(f, err)
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		var ev Event
		if ev.UnmarshalBinary(b) != nil {
			return
		}
		again, err := ev.AppendBinary(nil)
		require.NoError(t, err)
		require.Equal(t, b, again)
	})
}
