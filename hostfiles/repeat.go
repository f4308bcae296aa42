package hostfiles

import (
	"fmt"
	"slices"
	"strings"
)

// identity tells hosts apart. The name of an address is its shortest form, and
// case makes no difference, as in DNS (RFC 4343).
type identity struct {
	name, user string
	port       int
}

func (h *Host) identity() identity {
	return identity{canonicalName(h.Name), h.User, h.Port}
}

func canonicalName(name string) string {
	if addr, ok := address(name); ok {
		return addr.String()
	}
	return strings.ToLower(name)
}

// mentions is what the lines that name a host add up to.
type mentions struct {
	host     int // in the parser's hosts
	declared int // slots that were written
	bare     int // how often nothing stood beside its identity
}

// slots returns the slots of a host that was mentioned so. To be named once
// declares nothing; what is said more often is meant to count.
func (m *mentions) slots() int {
	if m.declared == 0 && m.bare <= 1 {
		return 0
	}
	return m.declared + m.bare
}

// add appends the hosts of e, or joins them with what was said of them before.
func (p *parser) add(e entry) {
	if column := e.columns["addr"]; column != 0 && len(e.names) > 1 {
		p.refuse(column, "addr= beside one host only", fmt.Sprintf("a range of %d", len(e.names)))
		return
	}
	bare := 1
	for name := range e.columns {
		if name != "user" && name != "port" {
			bare = 0
		}
	}
	for _, name := range e.names {
		h := e.Host
		h.Name = name
		h.GPUs, h.SkipGPUs = slices.Clone(h.GPUs), slices.Clone(h.SkipGPUs)
		m := p.known[h.identity()]
		switch {
		case m != nil:
			p.join(&p.hosts[m.host], &h, e.columns)
		case len(p.hosts) == maxHosts:
			p.refuseHosts(e.Pos.Column, name)
			return
		default:
			m = &mentions{host: len(p.hosts)}
			p.known[h.identity()] = m
			p.hosts = append(p.hosts, h)
		}
		p.hosts[m.host].Turns = append(p.hosts[m.host].Turns, p.turns)
		p.turns++
		m.declared += e.Slots
		m.bare += bare
		p.declare(&p.hosts[m.host], m.slots(), e.Pos.Column)
		if p.full() {
			return
		}
	}
}

// declare sets the slots of h, as they are after the entry at column.
func (p *parser) declare(h *Host, slots, column int) {
	limit, source := maxSlots, "slots"
	if h.MaxSlots > 0 {
		limit, source = h.MaxSlots, "slots, as max_slots says,"
	}
	if slots > limit {
		p.refuse(column, fmt.Sprintf("at most %d %s for %s", limit, source, h.Name), fmt.Sprintf("slots=%d", slots))
	}
	h.Slots = slots
}

// join adds to h, which is in the list, what again says of the same host; the
// slots are for declare.
func (p *parser) join(h, again *Host, columns map[string]int) {
	for _, a := range attributes {
		before, now := a.get(h), a.get(again)
		switch {
		case a.name == "slots" || now == "" || now == before:
		case before == "":
			a.set(h, now)
		default:
			p.refuse(columns[a.name], fmt.Sprintf("%s=%s for %s, as before", a.name, quote(before), h.Name), a.name+"="+quote(now))
		}
	}
}
