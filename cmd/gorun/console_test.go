package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestConsoleKeepsItsLinesWhole(t *testing.T) {
	var b bytes.Buffer
	con := newConsole(&b)
	con.Write([]byte("rank: half a li"))
	con.fail("first\nsecond", "gorun help")
	con.Write([]byte("ne\n"))
	con.note("last")
	require.Equal(t, "rank: half a li\ngorun: error: first\n  second\nhint: gorun help\nne\ngorun: last\n", b.String())
}

func TestConsoleQuiet(t *testing.T) {
	var b bytes.Buffer
	con := newConsole(&b)
	con.quiet = true
	con.note("nobody needs this")
	con.fail("everybody needs this")
	require.Equal(t, "gorun: error: everybody needs this\n", b.String())
}

func TestConsoleShows(t *testing.T) {
	flood := strings.Repeat("another line\n", recentSize/8)
	tests := []struct {
		name, written, tail string
		want                bool
	}{
		{"just written", "a\nb\n", "a\nb\n", true},
		{"tagged", "node1:3| a\nnode1:0| z\nnode1:3| b\n", "a\nb", true},
		{"never written", "a\n", "b\n", false},
		{"part of a line", "xa\n", "a\n", false},
		{"scrolled away", "a\n" + flood, "a\n", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			con := newConsole(new(bytes.Buffer))
			con.Write([]byte(test.written))
			require.Equal(t, test.want, con.shows([]byte(test.tail)))
		})
	}
}

func TestConsoleLogger(t *testing.T) {
	var b bytes.Buffer
	newConsole(&b).logger().Debug("the shell prints", "host", "node1")
	require.Equal(t, "gorun: msg=\"the shell prints\" host=node1\n", b.String())
}
