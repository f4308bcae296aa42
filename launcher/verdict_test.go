package launcher

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestFirstFailure(t *testing.T) {
	at := func(ms int) time.Time { return time.UnixMilli(int64(1000 + ms)) }
	exit := func(rank int) RankExit { return RankExit{Rank: rank, Code: 1} }
	killed := func(rank int) RankExit { return RankExit{Rank: rank, Code: -1, Signal: "SIGKILL"} }
	for name, c := range map[string]struct {
		failures []failure
		want     int
	}{
		"the earliest on one host, whatever its rank": {
			[]failure{{exit: exit(0), at: at(2)}, {exit: exit(5), at: at(1)}}, 5},
		"the earliest on one host, though another died by signal a little later": {
			[]failure{{exit: exit(3), at: at(1)}, {exit: killed(4), at: at(2)}}, 3},
		"at one moment on one host, a death by signal": {
			[]failure{{exit: exit(0), at: at(1)}, {exit: killed(4), at: at(1)}}, 4},
		"at one moment on one host, the lowest rank": {
			[]failure{{exit: exit(7), at: at(1)}, {exit: exit(4), at: at(1)}}, 4},
		"between hosts, the earliest by more than the clocks' doubt": {
			[]failure{{exit: exit(3), at: at(10), unsure: time.Millisecond}, {exit: killed(4), node: 1, at: at(20), unsure: time.Millisecond}}, 3},
		"within the doubt, a death by signal": {
			[]failure{{exit: exit(3), at: at(10), unsure: 5 * time.Millisecond}, {exit: killed(4), node: 1, at: at(18), unsure: 5 * time.Millisecond}}, 4},
		"within the doubt, the lowest rank": {
			[]failure{{exit: exit(7), at: at(10), unsure: 5 * time.Millisecond}, {exit: exit(4), node: 1, at: at(18), unsure: 5 * time.Millisecond}}, 4},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, firstFailure(c.failures).Rank)
		})
	}
	require.Nil(t, firstFailure(nil))
}

func TestClockTrustsTheQuickestRoundTrip(t *testing.T) {
	var c clock
	sent := time.UnixMilli(1000)
	c.observe(sent, sent.Add(time.Hour+50*time.Millisecond), sent.Add(100*time.Millisecond))
	require.Equal(t, 50*time.Millisecond, c.unsure)
	c.observe(sent, sent.Add(time.Hour+time.Millisecond), sent.Add(2*time.Millisecond))
	require.Equal(t, time.Millisecond, c.unsure)
	c.observe(sent, sent.Add(3*time.Hour), sent.Add(10*time.Second)) // slow, so it says little
	require.Equal(t, time.Hour, c.offset)
	require.Equal(t, sent, c.ours(sent.Add(time.Hour)))
}
