package launcher

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/gorun/gorun/launcher/wire"
)

// A pause takes these steps: TSTP comes; leases and time limits stop on this
// side; every agent is told to stop its own and then its ranks; when all have,
// or pausePatience is over, this process stops itself, as the shell that sent
// TSTP expects. CONT lets everything go on, also before the last step.

// pausePatience bounds the wait for agents: a shell shall have its terminal
// back soon, and one that is late stops its ranks by itself.
const pausePatience = 2 * time.Second

// pausing is how far a pause has come.
type pausing struct {
	since    time.Time      // zero: there is none
	unpaused map[*host]bool // whose agents have still to stop their ranks
	patience <-chan time.Time
	woken    chan os.Signal // CONT
	screened bool           // the terminal was a rank's
}

// pause begins a pause.
func (l *launch) pause() {
	if !l.pausing.since.IsZero() {
		return
	}
	l.event(Event{Kind: Paused, Rank: -1})
	l.pausing = pausing{since: timeNow(), unpaused: map[*host]bool{}, patience: time.After(pausePatience), woken: make(chan os.Signal, 1)}
	signal.Notify(l.pausing.woken, syscall.SIGCONT)
	for _, a := range l.alarms() {
		a.hold()
	}
	for _, h := range l.hosts {
		if !h.ended() {
			l.pausing.unpaused[h] = true
			h.conn.Send(&wire.Pause{})
		}
	}
}

// hasPaused notes that the ranks of a host have stopped, or are lost with it.
func (l *launch) hasPaused(h *host) {
	if delete(l.pausing.unpaused, h); len(l.pausing.unpaused) == 0 {
		l.rest()
	}
}

// rest stops this process, once in a pause. The terminal is the user's
// meanwhile.
func (l *launch) rest() {
	if l.pausing.patience == nil {
		return // it has already, or CONT came first
	}
	l.pausing.patience = nil
	l.pausing.screened = l.screen.release()
	stopProcess()
}

// stopProcess stops this process as TSTP would if it were not caught. It
// returns some time before or after that.
func stopProcess() { syscall.Kill(os.Getpid(), syscall.SIGSTOP) }

// resume ends a pause, if there is one.
func (l *launch) resume() {
	if l.pausing.since.IsZero() {
		return
	}
	signal.Stop(l.pausing.woken)
	now, lasted := timeNow(), time.Since(l.pausing.since)
	if l.pausing.screened {
		l.screen.take() // an error means that the terminal is gone
	}
	l.pausing = pausing{}
	if !l.deadline.IsZero() {
		l.deadline = l.deadline.Add(lasted)
	}
	for _, a := range l.alarms() {
		a.release(lasted)
	}
	l.lease.beaten = now
	for _, h := range l.hosts {
		h.heard.Store(int64(now.Sub(l.began)))
		if !h.ended() {
			h.conn.Send(&wire.Resume{})
		}
	}
	l.event(Event{Kind: Resumed, Rank: -1, Message: "after " + lasted.Round(time.Millisecond).String()})
}

// alarms lists what a pause puts off.
func (l *launch) alarms() []*alarm {
	return []*alarm{&l.limit, &l.early, &l.joining.due, &l.audit.due, &l.unread.alarm, &l.lingering}
}
