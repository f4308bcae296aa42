package launcher

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gorun/gorun/launcher/wire"
)

// network is where the hosts of a launch reach each other.
type network struct {
	choices []choice // by node, each with one address
	master  string   // host:port; "": no port is free there
	commID  string   // NCCL_COMM_ID; "": not wanted
	hnp     string   // OMPI_MCA_orte_hnp_uri; "": no port is free
	ports   wire.PortRange
}

// settleNetwork decides where the hosts reach each other. Where the user has
// not said it and a host could be reached in several ways, the hosts try, all
// at once. It asks nothing of hosts where there is nothing to decide.
func (l *launch) settleNetwork(ctx context.Context) (err error) {
	n := &l.network
	n.ports = l.job.ports()
	if n.choices, err = chooseAddresses(l.candidates(l.hosts)); err != nil {
		return &PlanError{unjoin(err)}
	}
	if slices.ContainsFunc(n.choices, func(c choice) bool { return len(c.addrs) > 1 }) {
		if err := l.probe(ctx); err != nil {
			return err
		}
	}
	return l.findPorts(ctx)
}

// candidates is what is known of the addresses of hosts.
func (l *launch) candidates(hosts []*host) (candidates []candidate) {
	for _, h := range hosts {
		c := candidate{
			name: h.name, network: l.job.Network, by: "--iface",
			reached: h.reached, interfaces: readInterfaces(h.hello.Interfaces),
		}
		if h.entry.Iface != "" {
			c.network, c.by = h.entry.Iface, "iface="
		}
		if declared, err := netip.ParseAddr(h.entry.Addr); err == nil {
			c.declared = declared.Unmap()
		}
		if h.local {
			c.reached = l.source()
		}
		candidates = append(candidates, c)
	}
	return candidates
}

// source is the address from which we reach other hosts, zero if there is none.
func (l *launch) source() (source netip.Addr) {
	for _, h := range l.hosts {
		if h.source.IsValid() && (!source.IsValid() || source.IsLoopback()) {
			source = h.source
		}
	}
	return source
}

// findPorts finds ports on rank 0's host, which its agent has done already,
// unless they must be special.
func (l *launch) findPorts(ctx context.Context) error {
	master, n := l.hosts[l.plan.Seat(0).Node], &l.network
	addr := n.choices[master.node].addrs[0]
	n.hnp = hnpURI(addr, master.hello.HighPort)
	port, commPort := master.hello.FreePort, 0
	if l.job.Ports != "" || l.job.MasterPort != 0 || l.job.Env.CommID {
		wanted := []wire.PortRange{n.ports}
		if p := l.job.MasterPort; p != 0 {
			wanted[0] = wire.PortRange{First: p, Last: p}
		}
		if l.job.Env.CommID {
			wanted = append(wanted, n.ports)
		}
		answer, err := ask[*wire.FoundPorts](ctx, master, &wire.FindPorts{Ranges: wanted})
		if err != nil {
			return err
		}
		if len(answer.Ports) != len(wanted) {
			return &HostError{Host: master.name, Step: "agent", Err: fmt.Errorf("it found %d ports of %d", len(answer.Ports), len(wanted))}
		}
		for i, found := range answer.Ports {
			switch {
			case found != 0:
			case i == 0 && l.job.MasterPort != 0:
				return &HostError{Host: master.name, Step: "start",
					Err:  fmt.Errorf("%s is in use there (--master-port)", netip.AddrPortFrom(addr, uint16(l.job.MasterPort))),
					Hint: "without --master-port, a port is chosen that is free"}
			default:
				return &HostError{Host: master.name, Step: "start", Err: fmt.Errorf("no port is free there in %s", cmp.Or(l.job.Ports, "the usual range"))}
			}
		}
		port = answer.Ports[0]
		if l.job.Env.CommID {
			commPort = answer.Ports[1]
		}
	}
	if port != 0 {
		n.master = netip.AddrPortFrom(addr, uint16(port)).String()
	}
	if commPort != 0 {
		n.commID = netip.AddrPortFrom(addr, uint16(commPort)).String()
	}
	return nil
}

// answerLimit bounds how long an agent that is asked something may take, what
// it takes to find out excluded.
const answerLimit = 10 * time.Second

// ask blocks for the answer of an agent that is not told yet of the job.
func ask[Answer wire.Message](ctx context.Context, h *host, question wire.Message) (answer Answer, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	defer context.AfterFunc(ctx, func() { h.conn.Close() })()
	if err = h.conn.Send(question); err == nil {
		var m wire.Message
		if m, err = h.conn.Receive(); err == nil {
			var ok bool
			if answer, ok = m.(Answer); !ok {
				err = fmt.Errorf("unexpected answer %T of the agent to %T", m, question)
			}
		}
	}
	switch {
	case err == nil:
		return answer, nil
	case errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		err = fmt.Errorf("no answer to %T within %v", question, answerLimit)
	case ctx.Err() != nil:
		return answer, context.Cause(ctx)
	default:
		err = streamError(h, err)
	}
	return answer, &HostError{Host: h.name, Step: "agent", Err: err}
}

// probeFan is how many other hosts try to reach a host: enough to outvote one
// of them that itself is hard to reach, and no more with a thousand hosts.
const probeFan = 4

// probe has the hosts try at which addresses they reach each other, and leaves
// one address of each choice.
func (l *launch) probe(ctx context.Context) error {
	choices := l.network.choices
	sightings, err := probe(ctx, l.hosts, choices, l.job.ports())
	if err != nil {
		return err
	}
	var notes []string
	for to, seen := range sightings {
		best, missed := elect(len(choices[to].addrs), seen)
		for _, s := range missed {
			notes = append(notes, l.hosts[to].name+": "+missing(s, choices[to].addrs, best))
		}
		choices[to].addrs = choices[to].addrs[best : best+1]
	}
	return l.warn(notes)
}

// probe has hosts try at which addresses they reach each other, at ports within
// those of the job: others may be closed. It returns for each host what others
// have found.
func probe(ctx context.Context, hosts []*host, choices []choice, ports wire.PortRange) ([][]sighting, error) {
	count := len(hosts)
	questions := make([]wire.Probe, count)
	for i, h := range hosts {
		q := &questions[i]
		if h.token == nil {
			h.token = make([]byte, 16)
			rand.Read(h.token)
		}
		q.Port, q.Token = cmp.Or(h.hello.HighPort, h.hello.FreePort), h.token
		for _, a := range choices[i].addrs {
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
	fan := min(probeFan, count-1)
	for i := range questions {
		for d := 1; d <= fan; d++ {
			to := questions[(i+d)%count]
			questions[i].Targets = append(questions[i].Targets, wire.Target{Addrs: to.Listen, Port: to.Port, Token: to.Token})
		}
	}
	answers := make([]*wire.Probed, count)
	forEach(hosts, func(i int, h *host) {
		answers[i], errs[i] = ask[*wire.Probed](ctx, h, &questions[i])
		if errs[i] == nil && len(answers[i].Seen) != fan {
			errs[i] = &HostError{Host: h.name, Step: "agent", Err: fmt.Errorf("it probed %d hosts of %d", len(answers[i].Seen), fan)}
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
			if i >= 0 && i < addrs {
				votes[i]++
			}
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

// missing tells that a host is not reached by another.
func missing(s sighting, addrs []netip.Addr, best int) string {
	if len(s.Reached) > 0 {
		return fmt.Sprintf("%s does not reach it at %s, as other hosts do, but at %s", s.by, addrs[best], addrs[s.Reached[0]])
	}
	var list []string
	for _, a := range addrs {
		list = append(list, a.String())
	}
	return fmt.Sprintf("%s does not reach it at %s: %s", s.by, strings.Join(list, " or "), s.Error)
}

// ports is where the job listens; prepare has refused what is no range.
func (j *Job) ports() wire.PortRange {
	r, _ := parsePorts(j.Ports)
	return r
}

// parsePorts reads a range of ports, "A-B".
func parsePorts(s string) (wire.PortRange, error) {
	if s == "" {
		return wire.PortRange{}, nil
	}
	a, b, _ := strings.Cut(s, "-")
	first, errFirst := strconv.ParseUint(a, 10, 16)
	last, errLast := strconv.ParseUint(b, 10, 16)
	if errFirst != nil || errLast != nil || first == 0 || last < first {
		return wire.PortRange{}, fmt.Errorf("--ports: expected two port numbers from 1 to 65535, as 40000-40099, found %q", s)
	}
	return wire.PortRange{First: int(first), Last: int(last)}, nil
}

// unjoin returns the errors that were joined.
func unjoin(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}
