//go:build linux

package agent

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// signalled is Processes that note whom they are to send signals.
type signalled struct {
	Processes
	leaders []int
}

func (p *signalled) Signal(leader int, _ syscall.Signal) { p.leaders = append(p.leaders, leader) }

func (p *signalled) SignalStrays(leaders map[int]bool, _ syscall.Signal) {}

// What PMI knows of a rank's end may come long after it was reaped. Till then it
// counts among the living, but its number may be another process's.
func TestARankThatWasReapedIsSentNothing(t *testing.T) {
	p := &signalled{}
	reaped, runs := &rank{pid: 1<<22 + 1, alive: true, reaped: true}, &rank{number: 1, pid: 1<<22 + 2, alive: true}
	a := &agent{processes: p, ranks: []*rank{reaped, runs}}
	a.signal(syscall.SIGUSR1)
	a.tell(syscall.SIGTERM)
	require.Equal(t, []int{runs.pid, runs.pid, runs.pid}, p.leaders)
	require.True(t, runs.told)
	require.False(t, reaped.told)
	a.noteDying(time.Now())
	require.Zero(t, reaped.dying)
	require.Equal(t, []*rank{runs}, a.leaders())
}
