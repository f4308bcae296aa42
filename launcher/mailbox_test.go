package launcher

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/launcher/placement"
	"github.com/gorun/gorun/launcher/wire"
)

func TestTheMailboxHoldsWhatAgentsSayOnceAndGathersTheRest(t *testing.T) {
	const ranks = 3
	b := newMailbox()
	a, other := &host{name: "a"}, &host{name: "b"}
	post := func(from *host, m wire.Message) error { return b.post(letter{from: from, message: m}, ranks) }
	for i := range 100_000 {
		require.NoError(t, post(a, &wire.InputTaken{Bytes: 2}))
		require.NoError(t, post(a, &wire.Notice{Text: fmt.Sprint(i, strings.Repeat("x", maxNotice))}))
		require.NoError(t, post(a, &wire.Suspected{Node: 1}))
	}
	require.NoError(t, post(a, &wire.InputTaken{Closed: true}))
	require.NoError(t, post(other, &wire.InputTaken{Bytes: 7}))
	require.NoError(t, post(other, &wire.Notice{Text: "of another, which says little"}))

	letters := b.take()
	require.LessOrEqual(t, len(letters), maxHints+3)
	require.Equal(t, other, letters[len(letters)-1].from)
	var sums []wire.InputTaken
	for _, l := range letters {
		switch m := l.message.(type) {
		case *wire.InputTaken:
			sums = append(sums, *m)
		case *wire.Notice:
			require.LessOrEqual(t, len(m.Text), maxNotice)
		}
	}
	require.ElementsMatch(t, []wire.InputTaken{{Bytes: 200_000, Closed: true}, {Bytes: 7}}, sums)
	require.NoError(t, post(a, &wire.Notice{Text: "again"}))
	require.Len(t, b.take(), 1)
}

func TestTheMailboxRefusesAnAgentThatRaves(t *testing.T) {
	const ranks = 3
	b := newMailbox()
	a, other := &host{name: "a"}, &host{name: "b"}
	most, err := 0, error(nil)
	for ; err == nil; most++ {
		require.Less(t, most, 1<<20)
		err = b.post(letter{from: a, message: &wire.Exited{}}, ranks)
	}
	require.ErrorContains(t, err, "more than 1072 messages")
	require.NoError(t, b.post(letter{from: other, message: &wire.Exited{}}, ranks), "another is not to blame")
	require.NoError(t, b.post(letter{from: a, err: err}, ranks), "its end is heard")
	require.Len(t, b.take(), most+1)
	require.NoError(t, b.post(letter{from: a, message: &wire.Exited{}}, ranks))
}

func TestTheMailboxBoundsTheTextOfStackTraces(t *testing.T) {
	b := newMailbox()
	text := strings.Repeat("x", 1<<20)
	hosts := []*host{{}, {}, {}, {}}
	for i := range 100 {
		require.NoError(t, b.post(letter{from: hosts[i%4], message: &wire.Stack{Text: text}}, 128))
	}
	held, letters := 0, b.take()
	for _, l := range letters {
		held += len(l.message.(*wire.Stack).Text)
	}
	require.Len(t, letters, 100)
	require.Less(t, held, maxStacks+100*64)
}

func TestNoticesAreBounded(t *testing.T) {
	var events []Event
	job := &Job{Events: func(e Event) { events = append(events, e) }}
	l := newLaunch(&layout{attempt: &attempt{prepared: &prepared{job: job}}, plan: &placement.Plan{Size: 1}})
	h := &host{name: "a"}
	l.hosts = []*host{h}
	for i := range 10_000 {
		l.notice(h, fmt.Sprint("port ", i))
	}
	require.Len(t, events, maxNotices+1)
	require.Contains(t, events[maxNotices].Message, "left out")
	require.Len(t, l.notices.hosts, maxNotices)
}

func TestANoticeNamesAllItsHosts(t *testing.T) {
	var events []Event
	job := &Job{Events: func(e Event) { events = append(events, e) }}
	l := newLaunch(&layout{attempt: &attempt{prepared: &prepared{job: job}}, plan: &placement.Plan{Size: 3}})
	for _, name := range []string{"a", "b", "c"} {
		l.hosts = append(l.hosts, &host{name: name})
	}
	l.notice(l.hosts[1], "one")
	l.notice(l.hosts[0], "gone")
	l.notice(l.hosts[1], "gone")
	require.Empty(t, events, "others may have to say the same")
	l.notice(l.hosts[2], "gone")
	l.notice(l.hosts[2], "gone")
	require.Len(t, events, 2)
	require.Equal(t, "warning: b: one", events[0].String())
	require.Equal(t, "warning: 3 hosts: a, b, c: gone", events[1].String())
}
