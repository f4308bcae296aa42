package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gorun/gorun/hostfiles"
	"github.com/gorun/gorun/launcher/placement"
)

// With Open MPI each of several programs may have a -H of its own, "-H a -np 1
// ./server : -H b,c -np 2 ./worker", and a host whose slots are not declared there
// has one. Then the hosts are as good as written one for each rank, in the order
// of ranks, which is a mapping by sequence.

// takeHosts makes what -H has named since the last program the last one's own.
func (c *command) takeHosts() {
	c.programs[len(c.programs)-1].hosts, c.hostList = c.hostList, nil
}

// shareHosts gives the job the hosts of its first program, unless a later one
// has hosts of its own.
func (c *command) shareHosts() {
	if !slices.ContainsFunc(c.programs[1:], func(p program) bool { return p.hosts != nil }) {
		c.hostList, c.programs[0].hosts = c.programs[0].hosts, nil
	}
}

// checkOwnHosts refuses what does not go with programs that have hosts of their
// own.
func (c *command) checkOwnHosts() error {
	own := slices.IndexFunc(c.programs, func(p program) bool { return p.hosts != nil })
	switch bare := slices.IndexFunc(c.programs, func(p program) bool { return p.hosts == nil }); {
	case own < 0:
		return nil
	case c.hostfile != "" || len(c.hostList) > 0:
		return refusal("-H: expected it for the job or for each program, found both",
			"give the hosts of all programs once, before the first: -H a:1,b:7")
	case bare >= 0:
		return refusal(fmt.Sprintf("-H: expected it for each program or for none but the first, found none for %s", c.job.Apps[bare].Args[0]),
			c.programs[bare].withFlag("H", "a:1"))
	case c.job.Placement.MapBy != "" && c.job.Placement.MapBy != placement.BySequence:
		return refusal("-H of each program says where its ranks go: expected no --map-by beside it",
			"give the hosts of all programs once, before the first: -H a:1,b:7")
	}
	return nil
}

// ownHosts returns the hosts of programs that have their own, as often as there
// are ranks for them. Its error is a *usageError.
func (c *command) ownHosts() ([]hostfiles.Host, error) {
	type login struct {
		name, user string
		port       int
	}
	var hosts []hostfiles.Host
	index := map[login]int{}
	turn := 0
	for i, p := range c.programs {
		list, err := hostfiles.ParseList(strings.Join(p.hosts, ","))
		if err != nil {
			return nil, c.refusedHosts("-H: ", err)
		}
		app := c.job.Apps[i]
		rest := app.Ranks
		var terms []string
		for _, h := range list {
			slots := h.Slots
			if slots == 0 {
				slots = len(h.Turns)
			}
			terms = append(terms, fmt.Sprintf("%s %d", h.Name, slots))
			for range min(slots, rest) {
				who := login{strings.ToLower(h.Name), h.User, h.Port} // case makes no difference (RFC 4343)
				at, found := index[who]
				if !found {
					at = len(hosts)
					index[who] = at
					h.Slots, h.Turns = 0, nil
					hosts = append(hosts, h)
				}
				hosts[at].Slots++
				hosts[at].Turns = append(hosts[at].Turns, turn)
				turn, rest = turn+1, rest-1
			}
		}
		if rest > 0 {
			return nil, refusal(fmt.Sprintf("-H: expected slots for the %d ranks of %s, found %s", app.Ranks, app.Args[0], strings.Join(terms, " + ")),
				p.withFlag("H", fmt.Sprintf("%s:%d", list[0].Name, app.Ranks)))
		}
	}
	c.job.Placement.MapBy = placement.BySequence
	return hosts, nil
}
