package launcher

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestEventsSurviveTheirWriting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := rapid.Custom(func(t *rapid.T) time.Time {
			return time.Unix(rapid.Int64Range(0, 1<<33).Draw(t, "seconds"), rapid.Int64Range(0, 1e9-1).Draw(t, "nano")).UTC()
		})
		var events []Event
		for range rapid.IntRange(0, 5).Draw(t, "events") {
			e := Event{
				Time: at.Draw(t, "time"), Kind: rapid.SampledFrom([]Kind{HostLost, RankExited, Warning}).Draw(t, "kind"),
				Attempt: rapid.IntRange(0, 9).Draw(t, "attempt"), Rank: rapid.IntRange(-1, 1<<20).Draw(t, "rank"),
				Host: rapid.String().Draw(t, "host"), Message: rapid.String().Draw(t, "message"),
			}
			if e.Kind == RankExited {
				e.Exit = &RankExit{
					Rank: e.Rank, Host: e.Host, Code: rapid.IntRange(-1, 255).Draw(t, "code"), At: at.Draw(t, "at"),
					Signal: "SIGKILL", Cause: "out of memory", Stopped: rapid.Bool().Draw(t, "stopped"),
				}
				if tail := rapid.String().Draw(t, "tail"); tail != "" {
					e.Exit.Tail = []byte(tail)
				}
			}
			events = append(events, e)
		}
		var b bytes.Buffer
		for _, e := range events {
			require.NoError(t, json.NewEncoder(&b).Encode(e))
		}
		require.Equal(t, len(events), strings.Count(b.String(), "\n"))
		var read []Event
		for e, err := range ReadEvents(&b) {
			require.NoError(t, err)
			read = append(read, e)
		}
		require.Equal(t, events, read)
	})
}

func TestTheTailOfARankIsTextInJSON(t *testing.T) {
	b, err := json.Marshal(&RankExit{Rank: 3, Code: 1, Host: "node1", Tail: []byte("last words\n")})
	require.NoError(t, err)
	require.JSONEq(t, `{"rank":3,"code":1,"host":"node1","tail":"last words\n","at":"0001-01-01T00:00:00Z"}`, string(b))
}

func TestEventsThatAreNone(t *testing.T) {
	good := `{"time":"2026-11-30T12:00:00Z","kind":"host-lost","attempt":0,"rank":-1,"host":"node1","added":"later"}`
	for name, c := range map[string]struct{ text, want string }{
		"no JSON":         {good + "\nlate\n", "line 2: not an event"},
		"cut off":         {good + "\n" + good[:20], "line 2: not an event"},
		"another object":  {`{"level":"info"}`, "line 1: not an event: it has no kind"},
		"an empty line":   {"\n" + good, "line 1: not an event"},
		"an endless line": {good + "\n" + strings.Repeat("x", maxEvent+1), "line 2: "},
		"a number":        {`{"kind":"warning","rank":1e99}`, "line 1: not an event"},
	} {
		t.Run(name, func(t *testing.T) {
			var last error
			for e, err := range ReadEvents(strings.NewReader(c.text)) {
				require.NoError(t, last, "nothing follows an error")
				if last = err; err == nil {
					require.Equal(t, HostLost, e.Kind)
				}
			}
			require.ErrorContains(t, last, c.want)
		})
	}
	for range ReadEvents(strings.NewReader(good + "\n" + good)) {
		break // who has seen enough may leave
	}
}

func FuzzReadEvents(f *testing.F) {
	f.Add([]byte(`{"time":"2026-11-30T12:00:00Z","kind":"rank-exited","rank":3,"exit":{"rank":3,"code":-1,"signal":"SIGKILL","tail":"x\n"}}` + "\n"))
	f.Add([]byte("{\"kind\":\"ended\"}\n{}\n"))
	f.Add([]byte("\x00\xff\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		for e, err := range ReadEvents(bytes.NewReader(b)) {
			if err != nil {
				break
			}
			require.NotEmpty(t, e.Kind)
			require.NoError(t, json.NewEncoder(io.Discard).Encode(e), "what can be read can be written")
		}
	})
}
