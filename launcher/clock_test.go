package launcher

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

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
