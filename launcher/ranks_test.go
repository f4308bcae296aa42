package launcher

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/launcher/placement"
	"github.com/gorun/gorun/launcher/wire"
)

func TestARankEndsBeforeItIsToldOf(t *testing.T) {
	plan, err := placement.Place(2, []placement.Host{{Name: "a", Slots: 2}}, placement.Policy{})
	require.NoError(t, err)
	var seen []Event
	job := &Job{Continue: true, Events: func(e Event) { seen = append(seen, e) }}
	l := newLaunch(&layout{attempt: &attempt{prepared: &prepared{job: job, began: time.Now()}}, plan: plan})
	// A clock is known no better than by half a round trip.
	ahead := &host{name: "a", clock: clock{unsure: time.Hour, known: true}}
	l.rankExited(ahead, &wire.Exited{Rank: 1, Clock: int64(time.Hour)})
	require.Len(t, seen, 1)
	require.False(t, seen[0].Exit.At.After(seen[0].Time), "%v is after %v", seen[0].Exit.At, seen[0].Time)
}
