package launcher

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/gorun/gorun/launcher/address"
	"github.com/gorun/gorun/launcher/wire"
)

// probeFan is how many other hosts try to reach a host: enough to outvote one
// of them that itself is hard to reach, and no more with a thousand hosts.
const probeFan = 4

// probe has the hosts try at which addresses they reach each other, and leaves
// one address of each choice.
func (l *layout) probe(ctx context.Context) error {
	choices := l.network.choices
	sightings, err := probe(ctx, l.hosts, choices, l.job.ports(), probeFan)
	if err != nil {
		return err
	}
	var notes []string
	for to, seen := range sightings {
		best, missed := elect(len(choices[to].Addrs), seen)
		for _, s := range missed {
			notes = append(notes, l.hosts[to].name+": "+missing(s, "it", choices[to].Addrs, best))
		}
		choices[to].Addrs = choices[to].Addrs[best : best+1]
	}
	return l.warn(notes)
}

// probe has hosts try at which addresses they reach each other, at ports within
// those of the job: others may be closed. Each looks for so many others as fan,
// or all. It returns for each host what others have found.
func probe(ctx context.Context, hosts []*host, choices []address.Choice, ports wire.PortRange, fan int) ([][]sighting, error) {
	count := len(hosts)
	questions := make([]wire.Probe, count)
	for i, h := range hosts {
		q := &questions[i]
		if h.token == nil {
			h.token = make([]byte, 16)
			rand.Read(h.token)
		}
		q.Port, q.Token = cmp.Or(h.hello.HighPort, h.hello.FreePort), h.token
		for _, a := range choices[i].Addrs {
			q.Listen = append(q.Listen, a.String())
		}
	}
	errs := make([]error, count)
	if ports.First != 0 {
		forEach(hosts, func(i int, h *host) {
			var found *wire.FoundPorts
			found, errs[i] = ask[*wire.FoundPorts](ctx, h, &wire.FindPorts{Ranges: []wire.PortRange{ports}})
			if errs[i] == nil && len(found.Ports) == 1 {
				questions[i].Port = found.Ports[0]
			}
		})
		if err := errors.Join(errs...); err != nil {
			return nil, cmp.Or(context.Cause(ctx), err)
		}
	}
	fan = min(fan, count-1)
	for i := range questions {
		for d := 1; d <= fan; d++ {
			to := questions[(i+d)%count]
			questions[i].Targets = append(questions[i].Targets, wire.Target{Addrs: to.Listen, Port: to.Port, Token: to.Token})
		}
	}
	answers := make([]*wire.Probed, count)
	forEach(hosts, func(i int, h *host) {
		answers[i], errs[i] = ask[*wire.Probed](ctx, h, &questions[i])
		if errs[i] == nil {
			errs[i] = checkProbed(h, answers[i], questions[i].Targets)
		}
	})
	if err := errors.Join(errs...); err != nil {
		return nil, cmp.Or(context.Cause(ctx), err)
	}
	sightings := make([][]sighting, count)
	for to := range hosts {
		for d := 1; d <= fan; d++ {
			from := (to - d + count) % count
			sightings[to] = append(sightings[to], sighting{hosts[from].name, answers[from].Seen[d-1]})
		}
	}
	return sightings, nil
}

// checkProbed refuses an answer that does not go with what was asked.
func checkProbed(h *host, answer *wire.Probed, targets []wire.Target) error {
	refused := func(format string, args ...any) error {
		return &HostError{Host: h.name, Step: "agent", Err: fmt.Errorf(format, args...)}
	}
	if len(answer.Seen) != len(targets) {
		return refused("it probed %d hosts of %d", len(answer.Seen), len(targets))
	}
	for i, s := range answer.Seen {
		for _, at := range s.Reached {
			if at < 0 || at >= len(targets[i].Addrs) {
				return refused("it reached a host at address %d of %d", at, len(targets[i].Addrs))
			}
		}
	}
	return nil
}

// sighting is what one host found out about another.
type sighting struct {
	by string
	wire.Sighting
}

// elect returns at which of a host's addresses most of the others reach it, the
// best of these, and who does not reach it there.
func elect(addrs int, seen []sighting) (best int, missed []sighting) {
	votes := make([]int, addrs)
	for _, s := range seen {
		for _, i := range s.Reached {
			votes[i]++
		}
	}
	for i, n := range votes {
		if n > votes[best] {
			best = i
		}
	}
	for _, s := range seen {
		if !slices.Contains(s.Reached, best) {
			missed = append(missed, s)
		}
	}
	return best, missed
}

// missing tells that a host, called whom, is not reached by another.
func missing(s sighting, whom string, addrs []netip.Addr, best int) string {
	if len(s.Reached) > 0 {
		return fmt.Sprintf("%s does not reach %s at %s, as other hosts do, but at %s", s.by, whom, addrs[best], addrs[s.Reached[0]])
	}
	var list []string
	for _, a := range addrs {
		list = append(list, a.String())
	}
	return fmt.Sprintf("%s does not reach %s at %s: %s", s.by, whom, strings.Join(list, " or "), s.Error)
}
