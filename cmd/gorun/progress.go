package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/gorun/gorun/launcher"
)

// launchProgress is how far the agents of a job are.
type launchProgress struct {
	hosts []string // in the order of the plan
	last  map[string]launcher.Kind
}

// note takes an event about a host.
func (p *launchProgress) note(ev launcher.Event) {
	switch ev.Kind {
	case launcher.HostReaching:
		if p.last == nil {
			p.last = map[string]launcher.Kind{}
		}
		p.hosts = append(p.hosts, ev.Host)
	case launcher.HostFailed: // a spare, if there is one, makes up the number
		p.hosts = slices.DeleteFunc(p.hosts, func(h string) bool { return h == ev.Host })
	case launcher.HostUploading, launcher.HostReached:
	default:
		return
	}
	p.last[ev.Host] = ev.Kind
}

// String returns "5 of 8 hosts are up, waiting for node4, node7 (upload)".
func (p *launchProgress) String() string {
	const shown = 3
	up, names, more := 0, []string(nil), 0
	for _, h := range p.hosts {
		switch {
		case p.last[h] == launcher.HostReached:
			up++
			continue
		case len(names) == shown:
			more++
			continue
		case p.last[h] == launcher.HostUploading:
			h += " (upload)"
		}
		names = append(names, h)
	}
	text := fmt.Sprintf("%d of %s", up, count(len(p.hosts), "host is up", "hosts are up"))
	if len(names) > 0 {
		text += ", waiting for " + strings.Join(names, ", ")
	}
	if more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// A quick launch shows nothing, a slow one a line that follows it.
const (
	progressDelay    = 300 * time.Millisecond
	progressInterval = 100 * time.Millisecond
	// progressLines is the interval where each line stays, as in a log file.
	progressLines = 2 * time.Second
)

// progress shows a launchProgress while agents are started, on a terminal as a
// line that is gone before ranks write. Its goroutine lives from the first host
// to the plan. The nil progress shows nothing.
type progress struct {
	con    *console
	lines  bool // no terminal: a line of its own each time
	stop   chan struct{}
	done   chan struct{} // closed when the goroutine has ended
	active bool          // there is one

	mu     sync.Mutex
	launch launchProgress
	asking int // questions that are put to the user on the same terminal
}

// newProgress returns what --progress asks for: "on", "off" or "", which is
// on where standard error is a terminal that has not enough to show.
func (c *command) newProgress(con *console) *progress {
	f, ok := con.w.(*os.File)
	terminal := ok && term.IsTerminal(int(f.Fd()))
	if c.progress == "off" || c.progress != "on" && (!terminal || c.quiet || c.verbose) {
		return nil
	}
	return &progress{con: con, lines: !terminal}
}

// update takes an event of the job. Events come one at a time.
func (p *progress) update(ev launcher.Event) {
	if p == nil {
		return
	}
	p.mu.Lock()
	p.launch.note(ev)
	p.mu.Unlock()
	switch ev.Kind {
	case launcher.HostReaching:
		if !p.active {
			p.active, p.stop, p.done = true, make(chan struct{}), make(chan struct{})
			go p.run()
		}
	case launcher.Placed, launcher.Ended, launcher.Restarting:
		p.end()
	}
}

// shows reports whether there is a line, which names the hosts that a launch
// waits for. It is asked where update is called.
func (p *progress) shows() bool { return p != nil && p.active }

// end takes the line away and waits for the goroutine.
func (p *progress) end() {
	if p == nil || !p.active {
		return
	}
	close(p.stop)
	<-p.done
	p.active, p.launch = false, launchProgress{}
}

func (p *progress) run() {
	defer close(p.done)
	defer p.con.status("")
	interval := progressInterval
	if p.lines {
		interval = progressLines
	}
	for wait := progressDelay; ; wait = interval {
		select {
		case <-time.After(wait):
		case <-p.stop:
			return
		}
		p.mu.Lock()
		line, asking := "gorun: "+p.launch.String(), p.asking > 0
		p.mu.Unlock()
		switch {
		case asking:
			p.con.status("")
		case p.lines:
			p.con.note("%s", strings.TrimPrefix(line, "gorun: "))
		default:
			p.con.status(line)
		}
	}
}

// yield keeps the terminal free for a question until resume is called.
func (p *progress) yield() (resume func()) {
	if p == nil {
		return func() {}
	}
	p.mu.Lock()
	p.asking++
	p.mu.Unlock()
	p.con.status("")
	return func() {
		p.mu.Lock()
		p.asking--
		p.mu.Unlock()
	}
}
