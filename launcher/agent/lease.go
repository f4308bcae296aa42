//go:build linux

package agent

import (
	"errors"
	"os"
	"time"

	"github.com/gorun/gorun/launcher/wire"
)

// Why an agent gives its launcher up.
var (
	errGuardian = errors.New("the guardian is gone")
	errSilence  = errors.New("nothing was heard from the launcher")
)

// pausedBeat is how often an agent beats while the job stands still. The
// launcher reads nothing then, but its kernel acknowledges what comes for as
// long as there is one: without any data nothing would tell that its host died.
const pausedBeat = time.Minute

// keepLease beats for the launcher and gives it up after silence.
func (a *agent) keepLease() {
	timeout := time.Duration(a.start.Timeout)
	tick := time.NewTicker(timeout / wire.Beats)
	defer tick.Stop()
	var last time.Time
	for {
		select {
		case now := <-tick.C:
			if a.paused() {
				if now.Sub(last) >= pausedBeat {
					last = now
					if a.conn.SendIdle(&wire.Heartbeat{Clock: a.elapsed()}) != nil {
						return
					}
				}
				continue
			}
			if now.Sub(a.began)-time.Duration(a.heard.Load()) > timeout {
				a.lose(errSilence)
				return
			}
			last = now
			if a.conn.Send(&wire.Heartbeat{Clock: a.elapsed()}) != nil {
				return
			}
		case <-a.ctx.Done():
			return
		}
	}
}

// watch gives the launcher up when the guardian dies.
func (a *agent) watch(term <-chan os.Signal) {
	select {
	case <-term:
		a.lose(errGuardian)
	case <-a.ctx.Done():
	}
}

// lose gives the launcher up: it ends receive, and with it the job here.
func (a *agent) lose(cause error) {
	a.cancel(cause)
	a.conn.Close()
}
