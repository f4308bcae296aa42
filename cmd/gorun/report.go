package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
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
	con.fail(err.Error(), hints...)
	con.say("origin: gorun")
	return launcher.StatusUsage
}

// report says how the job ended and returns the exit status. Result is nil if
// no job was run.
func (c *command) report(ctx context.Context, con *console, result *launcher.Result, err error) int {
	if lost, ok := errors.AsType[*outputError](context.Cause(ctx)); ok {
		if lost.abandoned() {
			return 128 + int(syscall.SIGPIPE)
		}
		err = lost
	}
	if err == nil {
		return 0
	}
	if exit, ok := errors.AsType[*launcher.ExitError](err); ok {
		c.reportRank(con, result, exit)
		return launcher.ExitStatus(err)
	}
	msg, hints := c.explain(err)
	con.fail(msg, hints...)
	con.say("origin: gorun")
	return launcher.ExitStatus(err)
}

// reportRank tells which rank failed first, and what it said last if that is
// not before the reader's eyes anyway.
func (c *command) reportRank(con *console, result *launcher.Result, exit *launcher.ExitError) {
	var b strings.Builder
	fmt.Fprintf(&b, "%v", exit.RankExit)
	if exit.Cause != "" {
		fmt.Fprintf(&b, " (%s)", exit.Cause)
	}
	if n := othersFailed(result, exit.Rank); n == 1 {
		b.WriteString(", then 1 other rank failed")
	} else if n > 1 {
		fmt.Fprintf(&b, ", then %d other ranks failed", n)
	}
	if tail := lastLines(exit.Tail, 10); len(tail) > 0 && !con.shows(tail) {
		fmt.Fprintf(&b, "\nits last lines on standard error:\n")
		for line := range bytes.Lines(tail) {
			fmt.Fprintf(&b, "| %s\n", bytes.TrimRight(line, "\r\n"))
		}
	}
	con.fail(b.String())
	con.say("origin: rank")
}

// othersFailed counts the ranks but the first that failed by themselves. A
// rank that our TERM or KILL ended did what it was told.
func othersFailed(result *launcher.Result, first int) (n int) {
	if result == nil {
		return 0
	}
	for _, r := range result.Ranks {
		if r.Rank != first && r.Status() != 0 && r.Signal != "SIGTERM" && r.Signal != "SIGKILL" {
			n++
		}
	}
	return n
}

// lastLines returns the last n lines of text.
func lastLines(text []byte, n int) []byte {
	lines := bytes.SplitAfter(bytes.TrimRight(text, "\n"), []byte("\n"))
	return bytes.Join(lines[max(0, len(lines)-n):], nil)
}

// explain returns what to say of a failure that no rank is to blame for, and
// what to do about it.
func (c *command) explain(err error) (msg string, hints []string) {
	if start, ok := errors.AsType[*launcher.StartError](err); ok {
		return start.Error(), c.startHints(start)
	}
	if host, ok := errors.AsType[*launcher.HostError](err); ok {
		return host.Error(), hostHints(host)
	}
	if plan, ok := errors.AsType[*launcher.PlanError](err); ok {
		return plan.Error(), nil
	}
	if sig, ok := errors.AsType[*launcher.SignalError](err); ok {
		return "the job was " + sig.Error(), nil
	}
	if errors.Is(err, launcher.ErrTimeout) {
		return fmt.Sprintf("%v of %v (--timeout)", launcher.ErrTimeout, c.job.Limits.Run), nil
	}
	if out, ok := errors.AsType[*outputError](err); ok {
		return out.Error(), []string{"the job was stopped, since its output was being lost"}
	}
	return err.Error(), nil
}

// startHints tells how to name a program that was not found, or how to make it
// one.
func (c *command) startHints(e *launcher.StartError) []string {
	if e.Hint != "" {
		return strings.Split(e.Hint, "\n")
	}
	program := c.job.Apps[0].Args[0]
	if e.Program != program && filepath.Base(e.Program) != filepath.Base(program) {
		return nil // it is the folder that is missing
	}
	bare := filepath.Base(program) == program
	file := filepath.Join(c.job.Apps[0].Dir, program)
	info, err := os.Stat(file)
	switch here := err == nil && info.Mode().IsRegular(); {
	case e.Missing && bare && here:
		return []string{"a program of the current folder is written ./" + program + ": " + c.withProgram("./"+program)}
	case e.Missing && here:
		return []string{"it is here but not there; to copy it: " + commandLine(append([]string{"--stage"}, c.argv...))}
	case !e.Missing && here && info.Mode()&0o111 == 0:
		return []string{"chmod +x " + quoted(program)}
	}
	return nil
}

// withProgram returns the command with another name of the program.
func (c *command) withProgram(program string) string {
	at := len(c.argv) - len(c.job.Apps[0].Args)
	return commandLine(replaced(c.argv, at, 1, program))
}

// hostHints tells how to look closer at a host that was not reached.
func hostHints(e *launcher.HostError) []string {
	if e.Hint != "" {
		return strings.Split(e.Hint, "\n")
	}
	if e.Step == "dial" || e.Step == "login" {
		return []string{"ssh " + quoted(e.Host) + " true"}
	}
	return nil
}
