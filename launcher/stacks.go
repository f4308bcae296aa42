package launcher

import (
	"fmt"
	"strings"
	"time"

	"github.com/gorun/gorun/launcher/wire"
)

// stackPatience bounds how long stack traces may hold up the end of a job,
// beside the grace.
const stackPatience = 10 * time.Second

// stacks is how far the collection of stack traces has come.
type stacks struct {
	missing  map[*host]bool // whose agents have still to tell; nil: none is under way
	patience <-chan time.Time
	then     []func() // what waits for the end of it
}

// afterStacks calls then when all hosts have told where their ranks are, if
// the job is to have stack traces, or have taken too long. With ending the
// ranks need not survive it.
func (l *launch) afterStacks(ending bool, then func()) {
	if !l.job.Stacks || l.phase >= stopping {
		then()
		return
	}
	l.stacks.then = append(l.stacks.then, then)
	if l.stacks.missing != nil {
		return
	}
	within := min(stackPatience, l.job.Limits.grace())
	l.stacks.missing, l.stacks.patience = map[*host]bool{}, time.After(within)
	for _, h := range l.hosts {
		if !h.ended() {
			l.stacks.missing[h] = true
			// The answer needs some of the time for its way.
			h.conn.Send(&wire.TakeStacks{Within: int64(within * 9 / 10), Ending: ending})
		}
	}
}

// stack tells of one process.
func (l *launch) stack(h *host, m *wire.Stack) {
	l.event(Event{Kind: StackTrace, Host: h.name, Rank: m.Rank, Message: fmt.Sprintf("process %d: %s", m.PID, strings.TrimSpace(m.Text))})
}

// stacksTaken notes that a host has told all that it will.
func (l *launch) stacksTaken(h *host) {
	if delete(l.stacks.missing, h); len(l.stacks.missing) == 0 {
		l.stacksOver()
	}
}

// stacksOver lets go on what has waited.
func (l *launch) stacksOver() {
	waiting := l.stacks.then
	l.stacks = stacks{}
	for _, then := range waiting {
		then()
	}
}
