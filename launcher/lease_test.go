package launcher

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestALauncherThatWasStoppedBlamesNoHost(t *testing.T) {
	l := lease{limit: time.Second}
	at := time.Now()
	l.begin(at)
	l.begin(at.Add(500 * time.Millisecond))
	require.Zero(t, l.stopped)
	l.begin(at.Add(20 * time.Second))
	require.Equal(t, 19500*time.Millisecond, l.stopped)
	l.notice(at.Add(20*time.Second + time.Millisecond)) // a host's end is noticed now
	require.NotZero(t, l.stopped)
	l.begin(at.Add(20*time.Second + 200*time.Millisecond))
	require.Zero(t, l.stopped)
}
