package placement_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/launcher/placement"
)

func TestTable(t *testing.T) {
	hosts := []placement.Host{slots("login", 1), slots("node-17.cluster", 2)}
	tests := map[string]struct {
		policy placement.Policy
		want   string
	}{
		"one program": {placement.Policy{MapBy: placement.ByNode}, `
3 ranks on 2 hosts
RANK  NODE  LOCAL  HOST
0     0     0      login
1     1     0      node-17.cluster
2     1     1      node-17.cluster
`},
		"two programs": {placement.Policy{Apps: []int{2, 1}}, `
3 ranks on 2 hosts
RANK  NODE  LOCAL  PROGRAM  HOST
0     0     0      0        login
1     1     0      0        node-17.cluster
2     1     1      1        node-17.cluster
`},
		"one rank": {placement.Policy{Apps: []int{1}}, `
1 rank on 1 host
RANK  NODE  LOCAL  HOST
0     0     0      login
`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			plan, err := placement.Place(0, hosts, test.policy)
			require.NoError(t, err)
			var got strings.Builder
			require.NoError(t, plan.Table(&got))
			require.Equal(t, test.want[1:], got.String())
		})
	}
}

// full is a writer that takes so many bytes.
type full struct{ room int }

var errFull = errors.New("no space left on device")

func (f *full) Write(p []byte) (int, error) {
	if f.room -= len(p); f.room < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestTableReportsWriteErrors(t *testing.T) {
	plan, err := placement.Place(2, []placement.Host{slots("a", 2)}, placement.Policy{})
	require.NoError(t, err)
	var whole strings.Builder
	require.NoError(t, plan.Table(&whole))
	for room := range whole.Len() {
		require.ErrorIs(t, plan.Table(&full{room}), errFull, "room for %d bytes", room)
	}
}

func TestSeatOutsideTheWorldPanics(t *testing.T) {
	plan, err := placement.Place(2, []placement.Host{slots("a", 2)}, placement.Policy{})
	require.NoError(t, err)
	require.Panics(t, func() { plan.Seat(2) })
	require.Panics(t, func() { plan.Seat(-1) })
}
