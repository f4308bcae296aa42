//go:build linux

package agent

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/gorun/gorun/launcher/wire"
)

// pausing is whether the job stands still on this host. Meanwhile the launcher
// is stopped, so that neither side's lease runs, nor does a grace.
type pausing struct {
	mu      sync.Mutex    // held while processes are told to stop or to go on
	resumed chan struct{} // closed when they are to go on
	since   time.Time     // zero: the job runs; under agent.mu
}

// stopGrace is how long processes may take to stop by themselves on TSTP, which
// they may catch to let go of what others could use, before STOP.
const stopGrace = 250 * time.Millisecond

// That a rank stops is told by SIGCHLD. Of what it has started itself the kernel
// tells the rank alone, so it is looked for that, after stopLook and then twice as
// long each time: half a dozen looks in all.
const stopLook = 4 * time.Millisecond

// pause begins to stop every process of the job.
func (a *agent) pause() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.pausing.since.IsZero() {
		return
	}
	a.pausing.since = timeNow()
	resumed := make(chan struct{})
	a.pausing.resumed = resumed
	a.wg.Go(func() { a.hold(resumed) })
}

// hold sends TSTP, then STOP to what has not stopped, and tells the launcher.
// A process that is in the kernel for long may stop later.
func (a *agent) hold(resumed <-chan struct{}) {
	children := make(chan os.Signal, 1)
	signal.Notify(children, syscall.SIGCHLD)
	defer signal.Stop(children)
	wait := stopLook
	look := time.NewTimer(wait)
	defer look.Stop()
	for begun, s := timeNow(), syscall.SIGTSTP; ; s = 0 {
		late := time.Since(begun) >= stopGrace
		if late {
			s = syscall.SIGSTOP
		}
		if !a.unlessResumed(resumed, s) {
			return
		}
		if late || a.processes.Stopped() {
			break
		}
		select {
		case <-children:
		case <-look.C:
			wait *= 2
			look.Reset(min(wait, max(0, stopGrace-time.Since(begun))))
		case <-resumed:
			return
		}
	}
	a.conn.Send(&wire.Paused{})
}

// unlessResumed sends s, if it is not 0, to every process of the job; false if
// they are to go on.
func (a *agent) unlessResumed(resumed <-chan struct{}, s syscall.Signal) bool {
	a.pausing.mu.Lock()
	defer a.pausing.mu.Unlock()
	select {
	case <-resumed:
		return false
	default:
	}
	if s != 0 {
		a.send(s)
	}
	return true
}

// resume lets the job go on, as if the pause had not been.
func (a *agent) resume() {
	a.mu.Lock()
	since := a.pausing.since
	if since.IsZero() {
		a.mu.Unlock()
		return
	}
	a.pausing.since = time.Time{}
	a.killAt = a.killAt.Add(time.Since(since))
	a.mu.Unlock()
	a.pausing.mu.Lock()
	close(a.pausing.resumed)
	a.send(syscall.SIGCONT)
	a.pausing.mu.Unlock()
	select {
	case a.sooner <- struct{}{}: // the keeper's grace goes on
	default:
	}
}

// paused says whether the job stands still.
func (a *agent) paused() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return !a.pausing.since.IsZero()
}
