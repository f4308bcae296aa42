package main

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// sampleState returns a state of the small network with distinct values.
func sampleState() *state {
	st := newState(small)
	st.epochs = 3
	for i := range st.params {
		st.params[i], st.velocity[i] = float32(i)+0.5, -float32(i)
	}
	return st
}

func TestCheckpointRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "weights")
	rapid.Check(t, func(rt *rapid.T) {
		count := small.parameters()
		vector := rapid.SliceOfN(rapid.Float32(), count, count)
		st := &state{
			epochs:   int(rapid.Uint32().Draw(rt, "epochs")),
			params:   vector.Draw(rt, "params"),
			velocity: vector.Draw(rt, "velocity"),
		}
		require.NoError(rt, writeCheckpoint(path, small, st)) // over the one before
		got, err := readCheckpoint(path, small)
		require.NoError(rt, err)
		require.Equal(rt, st, got)
	})
}

func TestCheckpointKeepsBits(t *testing.T) {
	st := newState(small)
	st.params[0] = math.Float32frombits(0x7fc12345) // a NaN with a payload
	st.params[1] = float32(math.Copysign(0, -1))
	got, err := decodeCheckpoint(encodeCheckpoint(small, st), small)
	require.NoError(t, err)
	require.Equal(t, digestOf(st.params), digestOf(got.params))
}

func TestUnusableCheckpoints(t *testing.T) {
	whole := encodeCheckpoint(small, sampleState())
	flip := func(at int) []byte {
		data := slices.Clone(whole)
		data[at] ^= 1
		return data
	}
	other := shape{inputs: 19, hidden: 3, classes: 4}
	require.Equal(t, small.parameters(), other.parameters()) // the length must not give it away

	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"empty":                  {nil, "does not begin with"},
		"another kind of file":   {flip(0), "does not begin with"},
		"cut":                    {whole[:len(whole)-1], "want 664"},
		"too long":               {slices.Concat(whole, []byte{0}), "want 664"},
		"damaged weights":        {flip(len(whole) / 2), "is damaged"},
		"damaged sum":            {flip(len(whole) - 1), "is damaged"},
		"of a different network": {encodeCheckpoint(other, sampleState()), "is of a network of 19-3-4 units, want 7-6-4"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "weights")
			require.NoError(t, os.WriteFile(path, c.data, 0o600))
			_, err := readCheckpoint(path, small)
			require.ErrorContains(t, err, path)
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestFailedCheckpointLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	taken := filepath.Join(dir, "weights")
	require.NoError(t, os.Mkdir(taken, 0o700)) // which no file can replace
	require.ErrorContains(t, writeCheckpoint(taken, small, sampleState()), taken)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1)

	missing := filepath.Join(dir, "missing")
	require.ErrorContains(t, writeCheckpoint(filepath.Join(missing, "weights"), small, sampleState()), missing)
}

func FuzzDecodeCheckpoint(f *testing.F) {
	whole := encodeCheckpoint(small, sampleState())
	f.Add([]byte{})
	f.Add(whole)
	f.Add(whole[:checkpointHeader])
	f.Fuzz(func(t *testing.T, data []byte) {
		if st, err := decodeCheckpoint(data, small); err == nil {
			require.Equal(t, data, encodeCheckpoint(small, st))
		}
	})
}
