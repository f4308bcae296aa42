package launcher

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/gorun/gorun/launcher/placement"
)

// oneMachine names hosts of the plan that turned out to be one machine under
// several names. Their agents know nothing of each other, so that ranks of both are
// bound to the same cores. Entries that tell one machine apart on purpose are left
// out: loopback addresses, one name with several ports or users, and nodes of a
// scheduler.
func (l *lineup) oneMachine(plan *placement.Plan) (notes []string) {
	type machine struct {
		names []string
		ranks int
	}
	var machines []*machine
	known := map[string]*machine{}
	for _, a := range plan.Hosts {
		h := l.hosts[a.Index]
		id := h.hello.Machine
		if id == "" || isLoopback(h.entry.Name) && !h.local || l.means.bySlurm(h.entry) {
			continue
		}
		m := known[id]
		if m == nil {
			m = &machine{}
			known[id], machines = m, append(machines, m)
		}
		m.ranks += len(a.Seats)
		if !slices.ContainsFunc(m.names, func(name string) bool { return strings.EqualFold(name, h.entry.Name) }) {
			m.names = append(m.names, h.entry.Name)
		}
	}
	for _, m := range machines {
		if len(m.names) == 1 {
			continue
		}
		host := m.names[0]
		if strings.Contains(host, ":") { // IPv6
			host = "[" + host + "]"
		}
		notes = append(notes, fmt.Sprintf("%s are one machine, whose cores their ranks share unknown to each other; as one host: -H %s:%d",
			listed(m.names, 4), host, m.ranks))
	}
	return notes
}

// isLoopback says whether a host is named by what any machine calls itself.
func isLoopback(name string) bool {
	addr, err := netip.ParseAddr(name)
	return strings.EqualFold(name, "localhost") || err == nil && addr.Unmap().IsLoopback()
}
