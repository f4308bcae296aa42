package placement

import (
	"fmt"
	"strings"

	"github.com/gorun/gorun/nccl/topo"
)

// room is how many ranks a host takes, in a job of a given size.
type room struct {
	fill   int    // until its slots are taken; ≥ 1 if limit is
	limit  int    // at all; fill ≤ limit ≤ size
	reason string // which number limits it below size, in the words that users know
}

const (
	ofSlots    = "slots"
	ofMaxSlots = "max_slots"
	ofPerHost  = "per host"
	ofTurns    = "times in the list of hosts"
)

// gpus are the GPUs of a host that ranks are given.
func gpus(h Host, p Policy) []topo.Accelerator {
	if h.Topo == nil || p.GPUsPerRank == NoGPUs {
		return nil
	}
	return h.Topo.Accelerators
}

// slots is the number of ranks for which a host has a place of its own: declared,
// or that of its GPUs, or of its cores.
func slots(h Host, p Policy) int {
	n := h.Slots
	if n == 0 || p.MapBy == ByGPU {
		if gpus := gpus(h, p); len(gpus) > 0 {
			n = len(gpus) / max(p.GPUsPerRank, 1)
		} else if n == 0 {
			n = len(coresOf(h)) / max(p.CPUsPerRank, 1)
		}
	}
	n = max(n, 1) // one that is not known has at least one
	if h.MaxSlots > 0 {
		n = min(n, h.MaxSlots)
	}
	return n
}

// perHost returns the number that PerHost stands for on a host, and whether it
// stands for one that is known.
func perHost(h Host, p Policy) (int, bool) {
	if p.PerHost == OnePerGPU {
		return len(gpus(h, p)) / max(p.GPUsPerRank, 1), h.Topo != nil
	}
	return p.PerHost, p.PerHost > 0
}

// turns is how often a host was written.
func turns(h Host) int { return max(len(h.Turns), 1) }

func roomOn(h Host, size int, p Policy) room {
	r := room{limit: size}
	lower := func(limit int, why string, args ...any) {
		if limit < r.limit {
			r.limit, r.reason = limit, fmt.Sprintf(why, args...)
		}
	}
	if h.Slots > 0 && !p.Oversubscribe {
		lower(h.Slots, ofSlots)
	}
	if h.MaxSlots > 0 {
		lower(h.MaxSlots, ofMaxSlots)
	}
	r.fill = slots(h, p)
	if p.NoOversubscribe && h.Slots == 0 && h.CPUs != nil {
		lower(r.fill, "one for each GPU or core")
	}
	if n, ok := perHost(h, p); ok {
		lower(n, ofPerHost)
		r.fill = n
	}
	if p.MapBy == BySequence && !p.Oversubscribe {
		lower(turns(h), ofTurns)
	}
	if h.Topo != nil {
		n := len(h.Topo.Accelerators)
		switch {
		case p.GPUsPerRank > 0:
			lower(n/p.GPUsPerRank, "%s, %d a rank", count(n, "GPU"), p.GPUsPerRank)
		case n == 0 && (p.MapBy == ByGPU || p.BindTo == ToGPU):
			lower(0, "no GPU")
		}
	}
	if each := max(p.CPUsPerRank, 1); h.CPUs != nil && (p.CPUsPerRank > 0 || p.BindTo == ToCore || p.BindTo == ToThread) {
		units, what := len(h.CPUs), "hardware thread"
		if p.BindTo != ToThread {
			units, what = len(coresOf(h)), "core"
		}
		why := count(units, what)
		if each > 1 {
			why += fmt.Sprintf(", %d a rank", each)
		}
		lower(units/each, "%s", why)
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
			term += " (" + r.reason + ")"
		}
		terms = append(terms, term)
	}
	what := "slots declared"
	if !declared {
		what = "allowed"
	}
	return fmt.Errorf("%s asked for, %d %s: %s", count(size, "rank"), total, what, strings.Join(terms, " + "))
}

// maxNamed is how many hosts a message lists; a line of a terminal holds no more.
const maxNamed = 8
