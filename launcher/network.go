package launcher

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"

	"github.com/gorun/gorun/launcher/address"
	"github.com/gorun/gorun/launcher/wire"
)

// network is where the hosts of a launch reach each other.
type network struct {
	choices []address.Choice // by node, each with one address
	master  string           // host:port; "": no port is free there
	commID  string           // NCCL_COMM_ID; "": not wanted
	hnp     string           // OMPI_MCA_orte_hnp_uri; "": no port is free
	ports   wire.PortRange
}

// settleNetwork decides where the hosts reach each other. Where the user has
// not said it and a host could be reached in several ways, the hosts try, all
// at once. It asks nothing of hosts where there is nothing to decide.
func (l *layout) settleNetwork(ctx context.Context) (err error) {
	n := &l.network
	n.ports = l.job.ports()
	if n.choices, err = address.Choose(candidates(l.job, l.hosts, outgoing(l.hosts))); err != nil {
		return &PlanError{unjoin(err)}
	}
	if slices.ContainsFunc(n.choices, func(c address.Choice) bool { return len(c.Addrs) > 1 }) {
		if err := l.probe(ctx); err != nil {
			return err
		}
	}
	return l.findPorts(ctx)
}

// candidates is what is known of the addresses of hosts. Others see this host
// where its SSH connections come from.
func candidates(job *Job, hosts []*host, from netip.Addr) (candidates []address.Host) {
	for _, h := range hosts {
		c := address.Host{
			Name: h.name, Network: job.Network, By: "--iface",
			Reached: h.reached, Interfaces: address.Read(h.hello.Interfaces),
		}
		if h.entry.Iface != "" {
			c.Network, c.By = h.entry.Iface, "iface="
		}
		if declared, err := netip.ParseAddr(h.entry.Addr); err == nil {
			c.Declared = declared.Unmap()
		}
		if h.local {
			c.Reached = from
		}
		candidates = append(candidates, c)
	}
	return candidates
}

// outgoing is the address from which we reach other hosts, zero if there is none.
func outgoing(hosts []*host) (source netip.Addr) {
	for _, h := range hosts {
		if h.source.IsValid() && (!source.IsValid() || source.IsLoopback()) {
			source = h.source
		}
	}
	return source
}

// findPorts finds ports on rank 0's host, which its agent has done already,
// unless they must be special.
func (l *layout) findPorts(ctx context.Context) error {
	master, n := l.hosts[l.plan.Seat(0).Node], &l.network
	addr := n.choices[master.node].Addrs[0]
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

// unjoin returns the errors that were joined.
func unjoin(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}
