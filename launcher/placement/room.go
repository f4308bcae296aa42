package placement

import (
	"fmt"
	"strings"
)

// room is how many ranks a host takes, in a job of a given size.
type room struct {
	fill   int    // until its slots are taken; ≥ 1
	limit  int    // at all; fill ≤ limit ≤ size
	reason reason // for a limit below size
}

// reason says which number limits a host, in the words that users know.
type reason string

const (
	unlimited  reason = ""
	ofSlots    reason = "slots"
	ofMaxSlots reason = "max_slots"
	ofPerHost  reason = "per host"
)

// slots is the number of ranks for which a host has a place of its own.
func slots(h Host) int {
	n := h.Slots
	if n == 0 {
		n = max(h.CPUs, 1) // one that is not known has at least one
	}
	if h.MaxSlots > 0 {
		n = min(n, h.MaxSlots)
	}
	return n
}

func roomOn(h Host, size int, p Policy) room {
	r := room{limit: size}
	lower := func(limit int, why reason) {
		if limit < r.limit {
			r.limit, r.reason = limit, why
		}
	}
	if h.Slots > 0 && !p.Oversubscribe {
		lower(h.Slots, ofSlots)
	}
	if h.MaxSlots > 0 {
		lower(h.MaxSlots, ofMaxSlots)
	}
	r.fill = slots(h)
	if p.PerHost > 0 {
		lower(p.PerHost, ofPerHost)
		r.fill = r.limit
	}
	r.fill = min(r.fill, r.limit)
	return r
}

// capacityError says why size ranks do not fit, as a sum that one can check.
func capacityError(size, total int, rooms []room, hosts []Host) error {
	declared := true
	for _, r := range rooms {
		declared = declared && r.reason == ofSlots
	}
	terms := make([]string, 0, maxNamed+1)
	for i, r := range rooms {
		if i == maxNamed && len(rooms) > maxNamed+1 {
			terms = append(terms, fmt.Sprintf("%d more hosts", len(rooms)-i))
			break
		}
		term := fmt.Sprintf("%s %d", hosts[i].Name, r.limit)
		if !declared {
			term += " (" + string(r.reason) + ")"
		}
		terms = append(terms, term)
	}
	what := "slots declared"
	if !declared {
		what = "allowed"
	}
	return fmt.Errorf("%d ranks asked for, %d %s: %s", size, total, what, strings.Join(terms, " + "))
}

// maxNamed is how many hosts a message lists; a line of a terminal holds no more.
const maxNamed = 8
