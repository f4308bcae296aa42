package main

// The rules of what gorun says:
//
//   - Standard output belongs to the ranks. Only where no rank runs (help,
//     version, --dry-run) does gorun write there.
//   - Standard error is shared with the ranks. Everything of ours there begins
//     a line of its own with "gorun: ", but for hints and the last line.
//   - What ends the command is one "gorun: error: " line, or a short paragraph
//     whose further lines are indented, and then "hint: " lines with something
//     to type. No capital at the beginning, no full stop at the end.
//   - The last line of a command that failed is "origin: rank" or "origin:
//     gorun", since programs use our exit statuses too.
//   - A reader that went away (head, a closed terminal) is told nothing.
//   - Questions go to the controlling terminal, never to the standard streams.
//   - How far a launch is stands in one line of a terminal, which is gone
//     before anything else is written.
//   - -q leaves errors only; -v adds a line for everything that happens.

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"golang.org/x/term"
)

// console is standard error, shared by gorun and the ranks.
type console struct {
	quiet bool

	mu      sync.Mutex // guards what follows, and keeps lines whole
	w       io.Writer
	midLine bool   // a rank's last line has no newline yet
	passing string // a status line that stands at the cursor
	recent  []byte // the end of what ranks wrote, at most recentSize
}

// recentSize is what counts as still before the reader's eyes: some hundred
// lines. The summary repeats a rank's last words only if they are not there.
const recentSize = 8 << 10

func newConsole(w io.Writer) *console { return &console{w: w} }

// Write passes on what ranks write. It never fails short of w.
func (c *console) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.erase()
	n, err := c.w.Write(p)
	if n > 0 {
		c.midLine = p[n-1] != '\n'
		c.recent = append(c.recent, p[max(0, n-recentSize):n]...)
		c.recent = c.recent[max(0, len(c.recent)-recentSize):]
	}
	return n, err
}

// SyscallConn lets the launcher see whether this is a terminal.
func (c *console) SyscallConn() (syscall.RawConn, error) {
	f, ok := c.w.(*os.File)
	if !ok {
		return nil, os.ErrInvalid
	}
	return f.SyscallConn()
}

// raw reports whether this is a terminal that a rank has for its own: lines
// there end with CR LF.
func (c *console) raw() bool {
	f, ok := c.w.(*os.File)
	if !ok {
		return false
	}
	state, err := unix.IoctlGetTermios(int(f.Fd()), getTermios)
	return err == nil && state.Oflag&unix.OPOST == 0
}

// Stat lets the launcher see whether standard output goes to the same place,
// such as one terminal, where the ranks' two streams must not break each
// other's lines.
func (c *console) Stat() (os.FileInfo, error) {
	f, ok := c.w.(*os.File)
	if !ok {
		return nil, os.ErrInvalid
	}
	return f.Stat()
}

// say writes lines of gorun's own, on lines of their own.
func (c *console) say(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.erase()
	text := fmt.Sprintf(format, args...)
	if c.midLine {
		text = "\n" + text
		c.midLine = false
	}
	text += "\n"
	if c.raw() {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	// Nobody is left to be told that standard error cannot be written.
	io.WriteString(c.w, text)
}

// status shows a line on a terminal that the next one replaces, and whatever
// else is written; "" takes it away.
func (c *console) status(line string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if line == c.passing || c.midLine {
		return
	}
	c.erase()
	if f, ok := c.w.(*os.File); ok {
		// A line that wraps could not be taken back.
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			runes := []rune(line)
			line = string(runes[:min(len(runes), width-1)])
		}
	}
	io.WriteString(c.w, line)
	c.passing = line
}

// erase takes the status line away. c.mu is held.
func (c *console) erase() {
	if c.passing != "" {
		io.WriteString(c.w, "\r\x1b[K") // ECMA-48: erase in line
		c.passing = ""
	}
}

// note says what the user should know and need not act on.
func (c *console) note(format string, args ...any) {
	if !c.quiet {
		c.say("gorun: "+format, args...)
	}
}

// logger returns a logger whose records are lines of gorun's own.
func (c *console) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(logLines{c}, &slog.HandlerOptions{
		Level: slog.LevelDebug,
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey) {
				return slog.Attr{} // nobody reads them beside the job's events
			}
			return a
		},
	}))
}

// logLines passes a slog handler's records, one a Write, to a console.
type logLines struct{ con *console }

func (l logLines) Write(p []byte) (int, error) {
	l.con.say("gorun: %s", strings.TrimRight(string(p), "\n"))
	return len(p), nil
}

// maxLines is how many lines of one error are shown.
const maxLines = 20

// capped shortens what many hosts say to what one reads.
func capped(msg string) string {
	lines := strings.Split(msg, "\n")
	if more := len(lines) - maxLines; more > 1 {
		lines = append(lines[:maxLines], fmt.Sprintf("and %d more lines", more))
	}
	return strings.Join(lines, "\n")
}

// fail says what ended the command: the lines of msg, then what to do.
func (c *console) fail(msg string, hints ...string) {
	msg = strings.TrimRight(msg, "\n")
	c.say("gorun: error: %s", strings.ReplaceAll(msg, "\n", "\n  "))
	for _, hint := range hints {
		c.say("hint: %s", hint)
	}
}

// shows reports whether every line of text was written by ranks lately, with
// or without a tag before it.
func (c *console) shows(text []byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	recent := "\n" + string(c.recent) + "\n"
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n") + "\n"
		if !strings.Contains(recent, "\n"+line) && !strings.Contains(recent, "| "+line) {
			return false
		}
	}
	return true
}
