package launcher

import "time"

// alarm rings once at a time that pauses put off. The zero value never does.
type alarm struct {
	C     <-chan time.Time
	timer *time.Timer // nil: none is set
	at    time.Time
}

// set makes it ring after d.
func (a *alarm) set(d time.Duration) {
	a.timer, a.at = time.NewTimer(d), timeNow().Add(d)
	a.C = a.timer.C
}

// clear makes it never ring.
func (a *alarm) clear() {
	if a.timer != nil {
		a.timer.Stop()
	}
	*a = alarm{}
}

// hold stops the clock.
func (a *alarm) hold() {
	if a.timer != nil {
		a.timer.Stop() // what it has rung and nobody heard is taken back
	}
}

// release lets the clock go on after it stood still for d.
func (a *alarm) release(d time.Duration) {
	if a.timer != nil {
		a.at = a.at.Add(d)
		a.timer.Reset(time.Until(a.at))
	}
}
