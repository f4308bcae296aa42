//go:build linux

package agent

import (
	"syscall"
	"time"

	"github.com/gorun/gorun/launcher/wire"
)

// signal sends s to the process group of every living rank.
func (a *agent) signal(s syscall.Signal) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range a.ranks {
		if r.running() {
			a.processes.Signal(r.pid, s)
		}
	}
}

// stop begins the end of the job on this host, or, called again, brings the
// KILL forward.
func (a *agent) stop(s syscall.Signal, grace time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	at := timeNow().Add(grace)
	if a.keeper == nil {
		a.killAt = at
		a.keeper = make(chan struct{})
		go a.keep(s)
		return
	}
	if at.Before(a.killAt) {
		a.killAt = at
		select {
		case a.sooner <- struct{}{}:
		default: // it has yet to look anyway
		}
	}
}

// keep ends the job: the signal that ended the launcher, TERM, KILL when the
// grace is over, and Done when nothing is left and all output was taken. stop
// starts it; finish waits for it.
func (a *agent) keep(s syscall.Signal) {
	defer close(a.keeper)
	if a.anyLiving() {
		a.tell(s)
		if s != syscall.SIGTERM {
			a.mu.Lock()
			half := timeNow().Add(min(time.Until(a.killAt)/2, termDelay))
			a.mu.Unlock()
			if !a.awaitEnd(half) {
				a.tell(syscall.SIGTERM)
			}
		}
		a.awaitEnd(time.Time{})
	}
	a.mu.Lock()
	for _, r := range a.ranks {
		r.told = true
	}
	a.mu.Unlock()
	left := a.processes.KillRest()
	if len(left) == 0 {
		a.awaitRanks()
	} else {
		a.cutPipes() // what is left may hold them open for ever
	}
	// Nothing writes any more, so the pumps come to the end of their pipes.
	a.pumps.Wait()
	a.endPipes()
	a.awaitAudit()
	a.conn.SendBulk(&wire.Done{Left: left}) // behind the last output
}

// termDelay is how long ranks that were sent INT may take before TERM follows:
// a shell starts its background jobs with INT ignored.
const termDelay = time.Second

// anyLiving says whether a rank lives. Without one, what is left are processes
// that their rank did not wait for; they get no grace.
func (a *agent) anyLiving() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.living > 0
}

// tell sends a signal that ends processes to every one of the job, and CONT,
// for what is stopped acts on no other.
func (a *agent) tell(s syscall.Signal) {
	a.mu.Lock()
	for _, r := range a.ranks {
		r.told = r.told || r.running()
	}
	a.mu.Unlock()
	a.send(s)
	a.send(syscall.SIGCONT)
}

// send sends a signal to every process of the job: to groups as a whole where
// a rank leads them, which no fork can escape.
func (a *agent) send(s syscall.Signal) {
	a.mu.Lock()
	leaders := map[int]bool{}
	for _, r := range a.ranks {
		if r.running() {
			leaders[r.pid] = true
			a.processes.Signal(r.pid, s)
		}
	}
	a.mu.Unlock()
	a.processes.SignalStrays(leaders, s)
}

// awaitEnd blocks until no process of the job is left, which it reports, or
// until the given time, or the end of the grace, whichever is sooner.
func (a *agent) awaitEnd(until time.Time) bool {
	toldOrphans := false
	for {
		a.mu.Lock()
		living, changed, end := a.living, a.changed, a.killAt
		paused := !a.pausing.since.IsZero()
		a.mu.Unlock()
		if paused { // the grace stands still
			select {
			case <-changed:
			case <-a.sooner:
			}
			continue
		}
		if !until.IsZero() && until.Before(end) {
			end = until
		}
		rest := time.Until(end)
		if rest <= 0 {
			return false
		}
		if living == 0 {
			// What is left are orphans. Some were forked after their parent
			// had been told, or ignore what ended it. They are waited for
			// in slices, so that a second stop is noticed.
			if !toldOrphans {
				a.tell(syscall.SIGTERM)
				toldOrphans = true
			}
			if a.processes.AwaitStrays(timeNow().Add(min(rest, 50*time.Millisecond))) {
				return true
			}
			continue
		}
		timer := time.NewTimer(rest)
		select {
		case <-changed:
		case <-a.sooner:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// awaitRanks blocks until every rank was reaped.
func (a *agent) awaitRanks() {
	for {
		a.mu.Lock()
		living, changed := a.living, a.changed
		a.mu.Unlock()
		if living == 0 {
			return
		}
		<-changed
	}
}
