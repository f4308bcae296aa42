package launcher

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/launcher/placement"
	"github.com/gorun/gorun/launcher/wire"
)

func TestAnAgentSpeaksOfItsOwnRanksOnly(t *testing.T) {
	plan, err := placement.Place(2, []placement.Host{{Name: "a", Slots: 1}, {Name: "b", Slots: 1}}, placement.Policy{})
	require.NoError(t, err)
	l := newLaunch(&layout{attempt: &attempt{prepared: &prepared{job: &Job{}}}, plan: plan})
	a := &host{name: "a", node: 0}
	for name, m := range map[string][2]wire.Message{ // of its own rank, of another's
		"started":     {&wire.Started{Rank: 0}, &wire.Started{Rank: 1}},
		"not started": {&wire.NotStarted{Rank: 0}, &wire.NotStarted{Rank: 1}},
		"joined":      {&wire.Joined{Rank: 0}, &wire.Joined{Rank: -1}},
		"exited":      {&wire.Exited{Rank: 0}, &wire.Exited{Rank: 1}},
		"a stack":     {&wire.Stack{Rank: 0}, &wire.Stack{Rank: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, l.receive(a, m[0]))
			require.Equal(t, []letter{{from: a, message: m[0]}}, l.mail.take())
			require.ErrorContains(t, l.receive(a, m[1]), "which is not on its host")
			require.Empty(t, l.mail.take())
		})
	}
	require.ErrorContains(t, l.receive(a, &wire.OutputEnd{Rank: 1, Stream: wire.Stdout}), "which is not on its host")
	require.ErrorContains(t, l.receive(a, &wire.OutputEnd{Rank: 0, Stream: 3}), "expected 1 or 2")
}
