package launcher

import (
	"fmt"
	"syscall"
)

// joining is who has opened the job to meet the others. A rank that never does
// may be waited for in vain: one that has ended is told to those who joined as
// lost, at once, which frees whoever listens. Who does not, an MPI program in a
// barrier for example, would wait for ever, and so such a job is ended when
// Limits.Init is over. Programs of which none joins do not meet, and are told
// nothing.
type joining struct {
	joined map[int]bool
	strays []int // that ended well without, not yet told
	due    alarm // Limits.Init after the first has joined; not set: none has, or no limit
	over   bool  // it has passed
}

// rankJoined notes that a rank has come.
func (l *launch) rankJoined(h *host, rank int) {
	if l.joining.joined[rank] {
		return
	}
	if limit := l.job.Limits.init(); len(l.joining.joined) == 0 && limit > 0 {
		l.joining.due.set(limit)
	}
	l.joining.joined[rank] = true
	l.event(Event{Kind: RankReady, Host: h.name, Rank: rank})
	l.reportStrays()
}

// rankStrayed notes that a rank has ended well and will not come.
func (l *launch) rankStrayed(rank int) {
	l.joining.strays = append(l.joining.strays, rank)
	l.reportStrays()
	if l.joining.over {
		l.endUnlessJoined()
	}
}

// reportStrays tells ranks that have joined of those that never will.
func (l *launch) reportStrays() {
	if len(l.joining.joined) == 0 {
		return
	}
	for _, rank := range l.joining.strays {
		host := l.ranks.exits[rank].Host
		l.report(host, fmt.Sprintf("rank %d on %s ended with status 0 before it joined the others", rank, host), rank)
	}
	l.joining.strays = nil
}

// initOver acts on the end of Limits.Init.
func (l *launch) initOver() {
	l.joining.due.clear()
	l.joining.over = true
	if l.endUnlessJoined() {
		return
	}
	var late []int
	for rank, e := range l.ranks.exits {
		if e == nil && !l.joining.joined[rank] {
			late = append(late, rank)
		}
	}
	if waiting := l.waiting(); len(late) > 0 && len(waiting) > 0 {
		l.event(Event{Kind: Warning, Rank: -1, Message: fmt.Sprintf("%s not joined within %v of the first (--init-timeout): %s",
			have(late), l.job.Limits.init(), wait(waiting))})
	}
}

// endUnlessJoined ends a job in which ranks wait for one that has left.
func (l *launch) endUnlessJoined() bool {
	var left []int
	for rank, e := range l.ranks.exits {
		if e != nil && e.Code == 0 && !l.joining.joined[rank] {
			left = append(left, rank)
		}
	}
	waiting := l.waiting()
	if len(left) == 0 || len(waiting) == 0 {
		return false
	}
	l.end(&JoinError{Left: left, Waiting: waiting}, syscall.SIGTERM)
	return true
}

// waiting lists the ranks that have joined and run.
func (l *launch) waiting() (ranks []int) {
	for rank, e := range l.ranks.exits {
		if e == nil && l.joining.joined[rank] {
			ranks = append(ranks, rank)
		}
	}
	return ranks
}

// JoinError is the error of a job some of whose ranks ended with 0 before they
// had met the others, who waited for them until Limits.Init was over.
type JoinError struct{ Left, Waiting []int }

func (e *JoinError) Error() string {
	return fmt.Sprintf("%s left without joining; %s", rankList(e.Left), wait(e.Waiting))
}

func have(ranks []int) string {
	if len(ranks) == 1 {
		return rankList(ranks) + " has"
	}
	return rankList(ranks) + " have"
}

func wait(ranks []int) string {
	if len(ranks) == 1 {
		return "1 rank waits"
	}
	return fmt.Sprintf("%d ranks wait", len(ranks))
}
