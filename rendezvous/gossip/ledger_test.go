package gossip

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// recordOf returns a record as it comes from node 1.
func recordOf(t *testing.T, epoch int, r record) entry {
	b, err := write(epoch, r)
	require.NoError(t, err)
	return entryOf(epoch, r, b, 1)
}

func TestLedgerForgetsAnEpochThatIsOver(t *testing.T) {
	l := newLedger()
	old, lasts := recordOf(t, 0, &value{"k", nil}), recordOf(t, 0, &event{[]byte("form")})
	next := recordOf(t, 1, &value{"k", nil})
	for _, e := range []entry{old, lasts, next} {
		require.True(t, l.claim(e))
		require.False(t, l.claim(e))
		l.enter(e)
	}
	l.begin(1)
	for _, e := range []entry{old, lasts, next} {
		require.False(t, l.claim(e))
	}
	require.Len(t, l.claimed, 2, "of the present epoch and of none")
	records, _, _ := l.after(0, 0, true)
	require.Equal(t, [][]byte{lasts.record, next.record}, records)
}

func TestBacklogIsBounded(t *testing.T) {
	n := &Node{ledger: newLedger()}
	take := func(epoch int, r record, personal bool) {
		require.NoError(t, n.take(1, recordOf(t, epoch, r).record, personal, true))
	}
	take(1, &value{"k", nil}, false)
	take(1, &value{"k", nil}, false)
	require.Len(t, n.waiting.records, 1)
	for range 3 {
		take(1, &wanted{1, 2, "k"}, true)
	}
	require.Len(t, n.waiting.records, 2, "a request that is repeated is kept once")
	take(1, &wanted{1, 2, "k"}, false)
	require.Len(t, n.waiting.records, 3, "along the tree it is another one")

	far := &value{"far", nil}
	take(2, far, false)
	require.Len(t, n.waiting.records, 3)
	require.True(t, n.ledger.claim(recordOf(t, 2, far)), "it may come again")

	n.waiting.size = maxBacklog - len(recordOf(t, 1, far).record) - earlyOverhead + 1
	take(1, far, false)
	require.Len(t, n.waiting.records, 3)
	require.True(t, n.ledger.claim(recordOf(t, 1, far)), "it may come again")
}
