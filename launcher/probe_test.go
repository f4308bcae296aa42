package launcher

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/launcher/wire"
)

func TestElect(t *testing.T) {
	saw := func(by string, reached ...int) sighting { return sighting{by, wire.Sighting{Reached: reached}} }
	for name, c := range map[string]struct {
		seen   []sighting
		best   int
		missed []string
	}{
		"the first that all reach":     {[]sighting{saw("a", 0), saw("b", 0, 1)}, 0, nil},
		"another, if none reaches it":  {[]sighting{saw("a", 1), saw("b", 1)}, 1, nil},
		"that which most reach":        {[]sighting{saw("a", 1), saw("b", 0), saw("c", 1)}, 1, []string{"b"}},
		"the better of equals":         {[]sighting{saw("a", 1), saw("b", 0)}, 0, []string{"a"}},
		"the first, if none is any":    {[]sighting{saw("a"), saw("b")}, 0, []string{"a", "b"}},
		"alone in reaching it nowhere": {[]sighting{saw("a", 1), saw("b", 1), saw("c")}, 1, []string{"c"}},
	} {
		t.Run(name, func(t *testing.T) {
			best, missed := elect(2, c.seen)
			require.Equal(t, c.best, best)
			var names []string
			for _, s := range missed {
				names = append(names, s.by)
			}
			require.Equal(t, c.missed, names)
		})
	}
}

func TestAnswersToProbesAreChecked(t *testing.T) {
	targets := []wire.Target{{Addrs: []string{"10.0.0.1", "10.0.0.2"}}}
	for name, c := range map[string]struct {
		seen []wire.Sighting
		want string // in the error; "": none
	}{
		"reached":             {[]wire.Sighting{{Reached: []int{0, 1}}}, ""},
		"not reached":         {[]wire.Sighting{{Error: "refused"}}, ""},
		"no word of a target": {nil, "it probed 0 hosts of 1"},
		"too many targets":    {make([]wire.Sighting, 2), "it probed 2 hosts of 1"},
		"an address too far":  {[]wire.Sighting{{Reached: []int{2}}}, "at address 2 of 2"},
		"an address before 0": {[]wire.Sighting{{Reached: []int{-1}}}, "at address -1 of 2"},
	} {
		t.Run(name, func(t *testing.T) {
			err := checkProbed(&host{name: "a"}, &wire.Probed{Seen: c.seen}, targets)
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.want)
		})
	}
}
