package verdict

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestFirst(t *testing.T) {
	at := func(ms int) time.Time { return time.UnixMilli(int64(1000 + ms)) }
	const doubt = 5 * time.Millisecond
	for name, c := range map[string]struct {
		failures []Exit
		want     int
	}{
		"the earliest on one host, whatever its rank": {
			[]Exit{{Rank: 0, Code: 1, At: at(2)}, {Rank: 5, Code: 1, At: at(1)}}, 5},
		"the earliest on one host, though another died by signal a little later": {
			[]Exit{{Rank: 3, Code: 1, At: at(1)}, {Rank: 4, Code: -1, At: at(2)}}, 3},
		"at one moment on one host, a death by signal": {
			[]Exit{{Rank: 0, Code: 1, At: at(1)}, {Rank: 4, Code: -1, At: at(1)}}, 4},
		"at one moment on one host, the lowest rank": {
			[]Exit{{Rank: 7, Code: 1, At: at(1)}, {Rank: 4, Code: 1, At: at(1)}}, 4},
		"at one moment on one host, a death by signal before an abort": {
			[]Exit{{Rank: 0, Code: 1, Aborted: true, At: at(1)}, {Rank: 4, Code: -1, At: at(1)}}, 4},
		"within the doubt, an abort before other exits": {
			[]Exit{{Rank: 0, Code: 1, At: at(10), Unsure: doubt}, {Rank: 4, Code: 1, Aborted: true, Node: 1, At: at(18), Unsure: doubt}}, 4},
		"between hosts, the earliest by more than the clocks' doubt": {
			[]Exit{{Rank: 3, Code: 1, At: at(10), Unsure: time.Millisecond}, {Rank: 4, Code: -1, Node: 1, At: at(20), Unsure: time.Millisecond}}, 3},
		"within the doubt, a death by signal": {
			[]Exit{{Rank: 3, Code: 1, At: at(10), Unsure: doubt}, {Rank: 4, Code: -1, Node: 1, At: at(18), Unsure: doubt}}, 4},
		"within the doubt, a script whose program died by signal": {
			[]Exit{{Rank: 3, Code: 1, At: at(10), Unsure: doubt}, {Rank: 4, Code: 139, Node: 1, At: at(18), Unsure: doubt}}, 4},
		"within the doubt, the lowest rank, if statuses are no signals'": {
			[]Exit{{Rank: 3, Code: 128, At: at(10), Unsure: doubt}, {Rank: 4, Code: 255, Node: 1, At: at(10), Unsure: doubt}}, 3},
		"within the doubt, the lowest rank": {
			[]Exit{{Rank: 7, Code: 1, At: at(10), Unsure: doubt}, {Rank: 4, Code: 1, Node: 1, At: at(18), Unsure: doubt}}, 4},
	} {
		t.Run(name, func(t *testing.T) {
			for i := range c.failures {
				c.failures[i].Clock = c.failures[i].At.Sub(at(0))
			}
			require.Equal(t, c.want, first(c.failures).Rank)
		})
	}
}

// The launcher may have learned more of a host's clock between two ends there, so
// that by its own they are the other way round.
func TestOrderOnAHostIsByItsOwnClock(t *testing.T) {
	at := func(ms int) time.Time { return time.UnixMilli(int64(1000 + ms)) }
	const ms = time.Millisecond
	failures := []Exit{
		{Rank: 0, Code: 1, Clock: 20 * ms, At: at(14), Unsure: 9 * ms},
		{Rank: 1, Code: 1, Clock: 19 * ms, At: at(19), Unsure: ms},
	}
	require.Equal(t, 1, first(failures).Rank)
	surely := Exit{Rank: 2, Node: 1, Code: 1, At: at(16), Unsure: ms}
	require.Equal(t, 2, first(append(failures, surely)).Rank, "before both, by what is known best")
}
