package launcher

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/gorun/gorun/launcher/wire"
)

// Agents of several hosts tell what should be alike on all of them: the program,
// NCCL's configuration, versions of libraries and of the driver. Where it
// differs, jobs fail in odd ways or crawl. It is compared while ranks start, who
// need not wait for it, and warned of. The ranks of a strict job wait, and start
// only if nothing differs.

// audit is what agents have told.
type audit struct {
	facts map[*host][]wire.Fact
	over  bool  // they were compared
	due   alarm // Limits.Start, of a strict job of several hosts; not set: no limit
}

// setAuditLimit bounds how long the ranks of a strict job wait.
func (l *launch) setAuditLimit() {
	if limit := l.job.Limits.start(); l.job.Strict && len(l.hosts) > 1 && limit > 0 {
		l.audit.due.set(limit)
	}
}

// auditOver ends a strict job some of whose hosts do not tell.
func (l *launch) auditOver() {
	l.audit.due.clear()
	if late := l.untold(); !l.audit.over && len(late) > 0 {
		l.end(&HostError{
			Host: nameHosts(late), Step: "start",
			Err:  fmt.Errorf("what should be alike on all hosts (--strict) was not told within %v (--start-timeout)", l.job.Limits.start()),
			Hint: "a file server of the program or of a library may hang there",
		}, syscall.SIGTERM)
	}
}

// untold lists the hosts that have not told, but those that are lost.
func (l *launch) untold() (hosts []*host) {
	for _, h := range l.hosts {
		if h.lost == nil && l.audit.facts[h] == nil {
			hosts = append(hosts, h)
		}
	}
	return hosts
}

// audited notes what an agent tells.
func (l *launch) audited(h *host, m *wire.Facts) {
	sent := h.begun.UnixNano()
	h.dates.observe(sent, m.Time, sent+int64(time.Since(h.begun)))
	l.audit.facts[h] = append(m.Facts, wire.Fact{What: "gorun", Values: []string{h.hello.Version}})
	l.compare()
}

// compare compares the hosts as soon as all have told, but those that are lost.
func (l *launch) compare() {
	if l.audit.over || len(l.untold()) > 0 {
		return
	}
	l.audit.over = true
	l.audit.due.clear()
	hosts := slices.DeleteFunc(slices.Clone(l.hosts), func(h *host) bool { return h.lost != nil })
	found := append(differences(hosts, l.audit.facts), clockDifferences(hosts)...)
	switch {
	case l.job.Strict && l.phase >= stopping:
	case l.job.Strict && len(found) > 0:
		l.end(&DifferenceError{found}, syscall.SIGTERM)
	case l.job.Strict:
		for _, h := range hosts {
			h.conn.Send(&wire.Proceed{})
		}
	case l.number == 0: // even if the job ends already, which this may explain
		for _, text := range found {
			l.event(Event{Kind: Warning, Rank: -1, Message: text})
		}
	}
}

// opinion is what some of the hosts tell of something.
type opinion struct {
	values []string
	where  string // on the first of them
	hosts  []*host
}

// differences says of each thing what hosts tell differently. A host that does
// not tell of it has nothing to be compared.
func differences(hosts []*host, facts map[*host][]wire.Fact) (list []string) {
	var things []string
	told := map[string][]*opinion{}
	for _, h := range hosts {
		for _, f := range facts[h] {
			opinions, known := told[f.What]
			if !known {
				things = append(things, f.What)
			}
			at := slices.IndexFunc(opinions, func(o *opinion) bool { return slices.Equal(o.values, f.Values) })
			if at < 0 {
				told[f.What] = append(opinions, &opinion{f.Values, f.Where, []*host{h}})
				continue
			}
			opinions[at].hosts = append(opinions[at].hosts, h)
		}
	}
	for _, thing := range things {
		if opinions := told[thing]; len(opinions) > 1 {
			list = append(list, thing+" differs: "+tellOpinions(opinions))
		}
	}
	return list
}

// tellOpinions returns "a, b 3f2a9c1b; c 99110ab2", what most hosts tell first.
// Of several values it leaves out those that all hosts have.
func tellOpinions(opinions []*opinion) string {
	const shown = 4
	slices.SortStableFunc(opinions, func(a, b *opinion) int { return len(b.hosts) - len(a.hosts) })
	common := func(value string) bool {
		return !slices.ContainsFunc(opinions, func(o *opinion) bool { return !slices.Contains(o.values, value) })
	}
	elsewhere := slices.ContainsFunc(opinions, func(o *opinion) bool { return o.where != opinions[0].where })
	var parts []string
	for _, o := range opinions[:min(len(opinions), shown)] {
		own := strings.Join(slices.DeleteFunc(slices.Clone(o.values), common), " ")
		if own == "" {
			own = "without"
		}
		if elsewhere && o.where != "" {
			own += " (" + o.where + ")"
		}
		parts = append(parts, nameHosts(o.hosts)+" "+own)
	}
	if more := len(opinions) - len(parts); more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, "; ")
}

// clockDifferences names hosts whose clock is far from the others'.
func clockDifferences(hosts []*host) (list []string) {
	for i, skew := range skews(hosts) {
		if skew != 0 {
			list = append(list, fmt.Sprintf("the clock of %s is %v off the other hosts'", hosts[i].name, skew.Round(time.Millisecond)))
		}
	}
	return list
}

// DifferenceError is the error of a strict job whose hosts differ in what should
// be alike. None of its ranks was started.
type DifferenceError struct{ Differences []string }

func (e *DifferenceError) Error() string { return strings.Join(e.Differences, "\n") }
