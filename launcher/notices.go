package launcher

import (
	"fmt"
	"slices"
	"time"
)

// maxNotices is how many different things hosts may want the user to know. More
// are one thing that is said in many ways, by a number in it or an address.
const maxNotices = 256

// noticePatience is how long others may take to say what a host has said, so that
// the user hears it of all of them at once.
const noticePatience = 100 * time.Millisecond

// notices is what agents want the user to know.
type notices struct {
	due    alarm
	texts  []string // that were not told yet, in order
	hosts  map[string][]*host
	silent bool // there were too many
}

// notice takes what an agent wants known. What all hosts have said is told at once,
// and the rest soon.
func (l *launch) notice(h *host, text string) {
	n := &l.notices
	if n.silent || slices.Contains(n.hosts[text], h) {
		return
	}
	if n.hosts[text] == nil && len(n.hosts) >= maxNotices {
		l.tellNotices()
		n.silent = true
		l.event(Event{Kind: Warning, Host: h.name, Rank: -1, Message: "it and others have more to say, which is left out"})
		return
	}
	if n.hosts == nil {
		n.hosts = map[string][]*host{}
	}
	n.hosts[text] = append(n.hosts[text], h)
	if !slices.Contains(n.texts, text) {
		n.texts = append(n.texts, text)
	}
	if len(n.hosts[text]) >= len(l.hosts) {
		l.tellNotices()
	} else if n.due.timer == nil {
		n.due.set(noticePatience)
	}
}

// tellNotices tells the user what was noticed, with the hosts that have said it.
// One that says it later is named later, with the others.
func (l *launch) tellNotices() {
	n := &l.notices
	n.due.clear()
	for _, text := range n.texts {
		e := Event{Kind: Warning, Rank: -1, Message: text}
		if hosts := n.hosts[text]; len(hosts) == 1 {
			e.Host = hosts[0].name
		} else {
			e.Message = fmt.Sprintf("%s: %s: %s", plural(len(hosts), "host"), nameHosts(hosts), text)
		}
		l.event(e)
	}
	n.texts = nil
}
