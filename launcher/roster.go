package launcher

import (
	"fmt"
	"slices"

	"github.com/gorun/gorun/hostfiles"
)

// roster is the hosts that a job may use. Every attempt lines up from it. Hosts
// are called by their index.
type roster struct {
	all    []rosterEntry
	active []int // in the order in which ranks fill them
	spares []int // held back
}

// rosterEntry is a host that the user named.
type rosterEntry struct {
	entry hostfiles.Host
	name  string // unlike any other's
	local bool   // it means this host
	gone  bool   // it was lost, could not be reached or is not fit
}

// newRoster holds the last spares entries back.
func newRoster(entries []hostfiles.Host, spares int, local func(hostfiles.Host) bool) *roster {
	r := &roster{}
	names := uniqueNames(entries)
	for i, e := range entries {
		r.all = append(r.all, rosterEntry{entry: e, name: names[i], local: local(e)})
		if i < len(entries)-spares {
			r.active = append(r.active, i)
		} else {
			r.spares = append(r.spares, i)
		}
	}
	return r
}

// host makes a host, not reached yet, of an entry.
func (r *roster) host(i int) *host {
	e := r.all[i]
	return &host{index: i, entry: e.entry, name: e.name, local: e.local}
}

func (r *roster) hosts(indexes []int) (hosts []*host) {
	for _, i := range indexes {
		hosts = append(hosts, r.host(i))
	}
	return hosts
}

// lineUp returns the hosts for an attempt. Those that are gone are left out if
// the others suffice; where nothing else is there, they get another chance.
func (r *roster) lineUp(suffice func([]int) bool) []int {
	sound := slices.DeleteFunc(slices.Clone(r.active), func(i int) bool { return r.all[i].gone })
	if len(sound) == len(r.active) || len(sound) > 0 && suffice(sound) {
		return sound
	}
	return slices.Clone(r.active)
}

// drop notes that a host is gone. A spare takes its place, if there is one,
// and is returned; else -1.
func (r *roster) drop(i int) (spare int) {
	r.all[i].gone = true
	at := slices.Index(r.active, i)
	if at < 0 || len(r.spares) == 0 {
		return -1
	}
	r.active[at], r.spares = r.spares[0], r.spares[1:]
	return r.active[at]
}

// uniqueNames names the hosts of a plan: as they are written, with user and
// port where only those tell two entries apart.
func uniqueNames(entries []hostfiles.Host) []string {
	count := map[string]int{}
	for _, e := range entries {
		count[e.Name]++
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name
		if count[e.Name] == 1 {
			continue
		}
		if e.User != "" {
			names[i] = e.User + "@" + names[i]
		}
		if e.Port != 0 {
			names[i] = fmt.Sprintf("%s:%d", names[i], e.Port)
		}
	}
	return names
}
