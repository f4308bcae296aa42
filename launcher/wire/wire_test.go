package wire

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// pair returns two connected Conns that end with the test.
func pair(t testing.TB) (a, b *Conn) {
	x, y := net.Pipe()
	a, b = NewConn(x), NewConn(y)
	t.Cleanup(func() { a.Close(); b.Close() })
	return a, b
}

// fill sets every field of a message to something drawn.
func fill(t *rapid.T, v reflect.Value) {
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "bool"))
	case reflect.Int, reflect.Int64:
		v.SetInt(rapid.Int64().Draw(t, "int"))
	case reflect.Uint8:
		v.SetUint(uint64(rapid.Byte().Draw(t, "byte")))
	case reflect.String:
		v.SetString(rapid.String().Draw(t, "string"))
	case reflect.Slice:
		n := rapid.IntRange(0, 5).Draw(t, "len")
		if n == 0 {
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			fill(t, v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			fill(t, v.Field(i))
		}
	}
}

func TestEveryMessageArrivesAsItWasSent(t *testing.T) {
	for kind, m := range table {
		if byte(kind) == outputType {
			continue // it has a form of its own
		}
		typ := reflect.TypeOf(m).Elem()
		t.Run(typ.Name(), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				sent := reflect.New(typ)
				fill(t, sent.Elem())
				frame, err := appendFrame(nil, sent.Interface())
				require.NoError(t, err)
				got, err := decode(frame[0], frame[frameHeader:])
				require.NoError(t, err)
				require.Equal(t, sent.Interface(), got)
			})
		})
	}
}

func TestOutputArrivesAsItWasSent(t *testing.T) {
	a, b := pair(t)
	at := time.Unix(1, 2)
	chunk := NewChunk()
	n := copy(chunk.Room(), "from a chunk")
	require.NoError(t, a.SendOutput(&Output{Rank: 7, Stream: Stderr, Time: at}, chunk, n))
	require.NoError(t, a.SendBulk(&Output{Rank: 1 << 19, Stream: Stdout, Time: at, Data: []byte("copied")}))
	for _, want := range []Output{
		{Rank: 7, Stream: Stderr, Time: at, Data: []byte("from a chunk")},
		{Rank: 1 << 19, Stream: Stdout, Time: at, Data: []byte("copied")},
	} {
		m, err := b.Receive()
		require.NoError(t, err)
		got := m.(*Output)
		require.Equal(t, want.Rank, got.Rank)
		require.Equal(t, want.Stream, got.Stream)
		require.True(t, want.Time.Equal(got.Time))
		require.Equal(t, string(want.Data), string(got.Data))
		got.Release()
	}
}

func TestControlOvertakesOutput(t *testing.T) {
	a, b := pair(t)
	// Nobody reads yet: the first frame is being written, the others wait.
	for range bulkFrames {
		require.NoError(t, a.SendBulk(&Output{Stream: Stdout, Data: make([]byte, MaxData)}))
	}
	require.NoError(t, a.Send(&Begin{}))
	outputs := 0
	for {
		m, err := b.Receive()
		require.NoError(t, err)
		if _, ok := m.(*Begin); ok {
			break
		}
		outputs++
	}
	require.LessOrEqual(t, outputs, 3, "frames that were in the writer's hands when Stopping was queued")
}

func TestSharedMessagesKeepTheirPlace(t *testing.T) {
	all := []Message{&Start{Job: "j"}, &Begin{Node: 1}, &Begin{Node: 2}, &Start{Job: "k"}, &Meet{Gossip: []string{"a"}}, &Begin{Node: 3}}
	for range 2 { // the second connection gets the same bytes
		a, b := pair(t)
		for _, m := range all {
			if begin, ok := m.(*Begin); ok {
				require.NoError(t, a.Send(begin))
				continue
			}
			shared, err := Share(m)
			require.NoError(t, err)
			require.NoError(t, a.SendShared(shared))
		}
		for _, want := range all {
			got, err := b.Receive()
			require.NoError(t, err)
			require.Equal(t, want, got)
		}
		require.NoError(t, a.Close())
		require.ErrorIs(t, a.SendShared(Shared{}), ErrClosed)
	}
}

func TestDrainWritesEverythingAndCloseNothing(t *testing.T) {
	x, y := net.Pipe()
	a := NewConn(x)
	go func() {
		for range 100 {
			a.Send(&Signal{Signal: 15})
		}
		a.Drain()
		a.Close()
	}()
	b := NewConn(y)
	defer b.Close()
	for range 100 {
		m, err := b.Receive()
		require.NoError(t, err)
		require.Equal(t, &Signal{Signal: 15}, m)
	}
	_, err := b.Receive()
	require.ErrorIs(t, err, io.EOF)
	require.ErrorIs(t, a.Send(&Begin{}), ErrClosed)
	require.ErrorIs(t, a.SendBulk(&Done{}), ErrClosed)
}

func TestCloseEndsABlockedSender(t *testing.T) {
	a, _ := pair(t)
	failed := make(chan error, 1)
	go func() {
		for {
			if err := a.SendBulk(&Output{Stream: Stdout, Data: make([]byte, MaxData)}); err != nil {
				failed <- err
				return
			}
		}
	}()
	a.Close()
	require.ErrorIs(t, <-failed, ErrClosed)
}

func TestMalformedFramesAreRefused(t *testing.T) {
	frame := func(kind byte, n uint32, payload ...byte) []byte {
		b := append([]byte{kind}, binary.BigEndian.AppendUint32(nil, n)...)
		return append(b, payload...)
	}
	signal := typeOf[reflect.TypeFor[Signal]()]
	done := typeOf[reflect.TypeFor[Done]()]
	for name, c := range map[string]struct {
		bytes []byte
		want  string
	}{
		"a type that is not in the table":        {frame(200, 0), "message type 200"},
		"a length over the limit":                {frame(signal, MaxFrame+1), "expected at most"},
		"output without its header":              {frame(outputType, 3, 1, 2, 3), "expected 13 to"},
		"output over the limit":                  {frame(outputType, outputHeader+MaxData+1), "expected 13 to"},
		"bytes after the last field":             {frame(signal, 2, 30, 0), "1 bytes after"},
		"a field that is missing":                {frame(signal, 0), "ends inside a field"},
		"a count that promises more than came":   {frame(done, 3, 0xff, 0xff, 0x7f), "ends inside a field"},
		"an end inside the payload":              {frame(signal, 9, 1), "unexpected EOF"},
		"a payload that is announced, then ends": {frame(signal, MaxFrame), "unexpected EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			x, y := net.Pipe()
			go func() { x.Write(c.bytes); x.Close() }()
			conn := NewConn(y)
			defer conn.Close()
			_, err := conn.Receive()
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestAMessageOverTheLimitIsNotSent(t *testing.T) {
	a, b := pair(t)
	require.ErrorIs(t, a.Send(&Notice{Text: string(make([]byte, MaxFrame+1))}), ErrTooLarge)
	require.NoError(t, a.Send(&Notice{Text: "small"}))
	m, err := b.Receive()
	require.NoError(t, err)
	require.Equal(t, &Notice{Text: "small"}, m)
}

func TestWindowBlocksUntilCreditComes(t *testing.T) {
	var w Window
	w.Give(2*frameCost + 10)
	n, err := w.Take(t.Context(), 4)
	require.NoError(t, err)
	require.Equal(t, 4, n)
	n, err = w.Take(t.Context(), 100)
	require.NoError(t, err)
	require.Equal(t, 6, n, "what is left, not what was asked for")

	got := make(chan int, 1)
	go func() {
		n, _ := w.Take(context.Background(), 100)
		got <- n
	}()
	w.Give(frameCost + 3)
	require.Equal(t, 3, <-got)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = w.Take(ctx, 1)
	require.ErrorIs(t, err, context.Canceled)
}

func TestTableHashDependsOnFieldsAndOrder(t *testing.T) {
	require.Len(t, TableHash(), 16)
	require.Equal(t, TableHash(), hashTable())
	old := table
	defer func() { table = old }()
	table = append([]Message{old[1], old[0]}, old[2:]...)
	require.NotEqual(t, TableHash(), hashTable())
}

func FuzzReceive(f *testing.F) {
	for _, m := range table {
		frame, err := appendFrame(nil, m)
		require.NoError(f, err)
		f.Add(frame)
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		conn := NewConn(readOnly{bytes.NewReader(stream)})
		defer conn.Close()
		for {
			m, err := conn.Receive()
			if err != nil {
				return
			}
			// What was accepted is what its encoding says.
			frame, err := appendFrame(nil, m)
			require.NoError(t, err)
			if o, ok := m.(*Output); ok {
				o.Release()
				continue
			}
			again, err := decode(frame[0], frame[frameHeader:])
			require.NoError(t, err)
			require.Equal(t, m, again)
		}
	})
}

type readOnly struct{ io.Reader }

func (readOnly) Write(p []byte) (int, error) { return len(p), nil }
func (readOnly) Close() error                { return nil }

func BenchmarkOutput(b *testing.B) {
	x, y := net.Pipe()
	from, to := NewConn(x), NewConn(y)
	defer from.Close()
	defer to.Close()
	go func() {
		for {
			chunk := NewChunk()
			if from.SendOutput(&Output{Stream: Stdout}, chunk, MaxData) != nil {
				return
			}
		}
	}()
	b.SetBytes(MaxData)
	for b.Loop() {
		m, err := to.Receive()
		if err != nil {
			b.Fatal(err)
		}
		m.(*Output).Release()
	}
}
