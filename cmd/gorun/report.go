package main

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"github.com/gorun/gorun/launcher"
)

// refuse reports a command that was not understood.
func refuse(con *console, err error) int {
	var hints []string
	if usage, ok := errors.AsType[*usageError](err); ok {
		hints = usage.hints
	}
	con.fail(capped(err.Error()), hints...)
	con.say("origin: gorun")
	return launcher.StatusUsage
}

// report says how the job ended and returns the exit status. Result is nil if
// no job was run.
func (c *command) report(con *console, result *launcher.Result, err error) int {
	c.listEnds(con, result)
	switch {
	case err == nil:
		return 0
	case abandoned(err):
		return 128 + int(syscall.SIGPIPE)
	}
	if exit, ok := errors.AsType[*launcher.ExitError](err); ok {
		con.fail(c.rankSummary(con, result, exit.RankExit))
	} else {
		con.fail(capped(c.message(err)), c.hints(err)...)
	}
	con.say("origin: %s", origin(err))
	return launcher.ExitStatus(err)
}

// origin says whose the exit status is: programs use the same numbers as gorun.
func origin(err error) string {
	if _, ok := errors.AsType[*launcher.ExitError](err); ok {
		return "rank"
	}
	return "gorun"
}

// abandoned reports whether err only says that nobody reads any more, as
// behind "gorun … | head -1".
func abandoned(err error) bool {
	sig, ok := errors.AsType[*launcher.SignalError](err)
	return ok && sig.Signal == "SIGPIPE" || errors.Is(err, syscall.EPIPE)
}

// maxTail is how many last lines of a rank's standard error are shown: enough
// for a stack trace. They are shown only where they are not in sight.
const maxTail = 50

// rankSummary tells which rank failed first, and what it said last if that is
// not before the reader's eyes anyway. A rank with a terminal has no standard
// error apart from its session.
func (c *command) rankSummary(con *console, result *launcher.Result, first launcher.RankExit) string {
	var b strings.Builder
	b.WriteString(first.String())
	if first.Cause != "" {
		fmt.Fprintf(&b, " (%s)", first.Cause)
	}
	if n := othersFailed(result, first.Rank); n == 1 {
		b.WriteString(", then 1 other rank failed")
	} else if n > 1 {
		fmt.Fprintf(&b, ", then %d other ranks failed", n)
	}
	if slices.Contains(c.job.Streams.PTY, first.Rank) {
		return b.String()
	}
	if tail := lastLines(first.Tail, maxTail); len(tail) > 0 && !con.shows(tail) {
		b.WriteString("\nits last lines on standard error:\n")
		for line := range bytes.Lines(tail) {
			fmt.Fprintf(&b, "| %s\n", bytes.TrimRight(line, "\r\n"))
		}
	}
	return b.String()
}

// othersFailed counts the ranks but the first that failed by themselves. A
// rank that was stopped did what it was told.
func othersFailed(result *launcher.Result, first int) (n int) {
	for _, r := range result.Ranks {
		if r.Rank != first && r.Code != 0 && !r.Stopped {
			n++
		}
	}
	return n
}

// listEnds says how every rank ended: where several failed, or the user wants
// to know.
func (c *command) listEnds(con *console, result *launcher.Result) {
	if result == nil || len(result.Ranks) == 0 {
		return
	}
	if c.allEnds || result.First != nil && othersFailed(result, result.First.Rank) > 0 {
		var b strings.Builder
		result.Table(&b)
		con.say("%s", strings.TrimSuffix(b.String(), "\n"))
	}
}

// lastLines returns the last n lines of text.
func lastLines(text []byte, n int) []byte {
	lines := bytes.SplitAfter(bytes.TrimRight(text, "\n"), []byte("\n"))
	return bytes.Join(lines[max(0, len(lines)-n):], nil)
}
