package pmi

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func FuzzPuts(f *testing.F) {
	for _, puts := range []map[string]string{{}, {"k": "v"}, {"-bcast-1-0": "2F64", "k": ""}} {
		b, err := encodePuts(puts)
		require.NoError(f, err)
		f.Add(b)
	}
	f.Add([]byte("\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, b []byte) {
		puts, err := decodePuts(b)
		if err != nil {
			return
		}
		again, err := encodePuts(puts)
		require.NoError(t, err)
		same, err := decodePuts(again)
		require.NoError(t, err)
		require.Equal(t, puts, same)
	})
}
