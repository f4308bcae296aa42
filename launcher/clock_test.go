package launcher

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestClock(t *testing.T) {
	// trip is a round trip that begins so long after the first and takes so long.
	type trip struct{ after, offset, takes time.Duration }
	first := trip{0, time.Hour, 100 * time.Millisecond}
	for name, c := range map[string]struct {
		trips []trip
		want  time.Duration
	}{
		"a quicker trip says more":                {[]trip{first, {time.Second, time.Hour + time.Millisecond, 2 * time.Millisecond}}, time.Hour + time.Millisecond},
		"a slower one says little":                {[]trip{first, {time.Second, time.Hour + time.Second, 10 * time.Second}}, time.Hour},
		"unless the quicker was long ago":         {[]trip{first, {24 * time.Hour, time.Hour + time.Second, 10 * time.Second}}, time.Hour + time.Second},
		"or cannot be true: the clock was halted": {[]trip{first, {time.Second, 0, 10 * time.Second}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var known clock
			for _, trip := range c.trips {
				sent := int64(trip.after)
				known.observe(sent, sent+int64(trip.takes/2+trip.offset), sent+int64(trip.takes))
			}
			require.Equal(t, int64(0), known.ours(int64(c.want)))
		})
	}
}
