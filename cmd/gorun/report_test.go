package main

import (
	"bytes"
	"net"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/launcher"
)

func TestRankSummary(t *testing.T) {
	first := launcher.RankExit{Rank: 1, Host: "node1", Code: 3, Tail: []byte("one\ntwo\n")}
	ended := launcher.RankExit{Rank: 0, Host: "node1"}
	told := launcher.RankExit{Rank: 2, Host: "node2", Code: -1, Signal: "SIGTERM", Stopped: true}
	failed := launcher.RankExit{Rank: 3, Host: "node2", Code: 1}
	crashed := launcher.RankExit{Rank: 4, Host: "node2", Code: -1, Signal: "SIGSEGV"}
	tests := []struct {
		name  string
		first launcher.RankExit
		ranks []launcher.RankExit
		seen  string // what standard error shows already
		want  string
	}{
		{
			"alone", first, []launcher.RankExit{ended, first, told}, "one\ntwo\n",
			"rank 1 on node1 exited with status 3",
		},
		{
			"one more", first, []launcher.RankExit{first, failed}, "one\ntwo\n",
			"rank 1 on node1 exited with status 3, then 1 other rank failed",
		},
		{
			"several more, out of sight", first, []launcher.RankExit{first, failed, crashed}, "one\n",
			"rank 1 on node1 exited with status 3, then 2 other ranks failed\n" +
				"its last lines on standard error:\n| one\n| two\n",
		},
		{
			"a cause", launcher.RankExit{Rank: 0, Host: "node1", Code: -1, Signal: "SIGKILL", Cause: "out of memory"}, nil, "",
			"rank 0 on node1 was killed by SIGKILL (out of memory)",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			con := newConsole(new(bytes.Buffer))
			con.Write([]byte(test.seen))
			require.Equal(t, test.want, (&command{}).rankSummary(con, &launcher.Result{Ranks: test.ranks}, test.first))
		})
	}
}

func TestLastLines(t *testing.T) {
	require.Equal(t, "b\nc", string(lastLines([]byte("a\nb\nc\n\n"), 2)))
	require.Equal(t, "a", string(lastLines([]byte("a"), 2)))
	require.Empty(t, lastLines(nil, 2))
}

func TestWarningsAreLines(t *testing.T) {
	waiting := launcher.Event{Kind: launcher.Warning, Rank: -1, Message: "waiting for node1, node2"}
	for _, test := range []struct{ name, flags, want string }{
		{"always", "", "half a line\ngorun: warning: waiting for node1, node2\ngorun: warning: waiting for node1, node2\n"},
		{"quiet", "-q", "half a line"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, err := parse(words(test.flags + " ./x"))
			require.NoError(t, err)
			var b bytes.Buffer
			con := newConsole(&b)
			con.quiet = c.quiet
			con.Write([]byte("half a line"))
			listen := c.listener(con, nil)
			listen(waiting)
			listen(waiting)
			require.Equal(t, test.want, b.String())
		})
	}
}

func TestASocketIsNoPipeThatNobodyReads(t *testing.T) {
	path := filepath.Join(t.TempDir(), "socket")
	l, err := net.Listen("unix", path)
	require.NoError(t, err)
	defer l.Close()
	_, err = openUnwaiting(path)
	require.ErrorIs(t, err, syscall.ENXIO)
	require.NotErrorIs(t, err, errNoReader)
}
