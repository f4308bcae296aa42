//go:build linux

package agent

import "time"

// The time of day jumps: it is set by hand, or by NTP when it is far off. Nothing
// of a job may follow it. Between times of one process Go counts by the monotonic
// clock; what leaves the process goes by a clock of the agent's own.

// timeNow reads this host's clock. Tests have one that jumps.
var timeNow = time.Now

// elapsed is the agent's own clock, in nanoseconds since it began. The launcher
// finds out what that is by its own.
func (a *agent) elapsed() int64 { return int64(time.Since(a.began)) }

// time is the time of day when the agent began, and what has passed since.
func (a *agent) time() time.Time { return a.began.Add(time.Since(a.began)) }
