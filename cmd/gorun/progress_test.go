package main

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/launcher"
)

func TestLaunchProgress(t *testing.T) {
	for _, test := range []struct{ name, events, want string }{
		{"at first", "reaching a b c d e", "0 of 5 hosts are up, waiting for a, b, c and 2 more"},
		{"some are up", "reaching a b c,reached c a", "2 of 3 hosts are up, waiting for b"},
		{"an upload", "reaching a b,uploading b,reached a", "1 of 2 hosts are up, waiting for b (upload)"},
		{"an upload that is over", "reaching a b,uploading b,reached b a", "2 of 2 hosts are up"},
		{"a spare", "reaching a b,failed a,reached b,reaching s", "1 of 2 hosts are up, waiting for s"},
		{"one that lasts", "reaching a,lost a", "0 of 1 host is up, waiting for a"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var p launchProgress
			for step := range strings.SplitSeq(test.events, ",") {
				kind, hosts, _ := strings.Cut(step, " ")
				for host := range strings.FieldsSeq(hosts) {
					p.note(launcher.Event{Kind: launcher.Kind("host-" + kind), Host: host})
				}
			}
			require.Equal(t, test.want, p.String())
		})
	}
}

// screen is a console's writer that may be read meanwhile.
type screen struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

const erased = "\r\x1b[K"

func TestTheProgressLineIsGoneBeforeAnythingElse(t *testing.T) {
	var s screen
	con := newConsole(&s)
	p := &progress{con: con}
	shown := func(text string) func() bool { return func() bool { return strings.HasSuffix(s.String(), text) } }
	p.update(launcher.Event{Kind: launcher.HostReaching, Host: "a"})
	require.Eventually(t, shown("gorun: 0 of 1 host is up, waiting for a"), 10*time.Second, time.Millisecond)
	con.say("a note")
	require.Contains(t, s.String(), erased+"a note\n")
	require.Eventually(t, shown("waiting for a"), 10*time.Second, time.Millisecond, "it comes back")
	resume := p.yield()
	require.True(t, shown(erased)(), "a question has the terminal for itself")
	resume()
	p.update(launcher.Event{Kind: launcher.HostReached, Host: "a"})
	require.Eventually(t, shown("gorun: 1 of 1 host is up"), 10*time.Second, time.Millisecond)
	p.update(launcher.Event{Kind: launcher.Placed, Rank: -1})
	con.Write([]byte("a rank's line\n"))
	require.True(t, shown(erased+"a rank's line\n")(), "%q", s.String())
}

func TestAQuickLaunchShowsNoProgress(t *testing.T) {
	var s screen
	p := &progress{con: newConsole(&s)}
	p.update(launcher.Event{Kind: launcher.HostReaching, Host: "a"})
	p.update(launcher.Event{Kind: launcher.HostReached, Host: "a"})
	p.update(launcher.Event{Kind: launcher.Placed, Rank: -1})
	p.end()
	require.Empty(t, s.String())
}

func TestProgressIsForTerminals(t *testing.T) {
	for flags, want := range map[string]bool{"": false, "--progress auto": false, "--progress on": true, "--show-progress": true, "--progress off": false} {
		c, err := parse(words(flags + " ./x"))
		require.NoError(t, err)
		require.Equal(t, want, c.newProgress(newConsole(&screen{})) != nil, flags)
	}
}
