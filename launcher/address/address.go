// Package address chooses where the hosts of a job reach each other. [Choose]
// only computes; where it leaves several addresses, the hosts try them.
package address

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/gorun/gorun/launcher/wire"
)

// Host is what is known of a host's addresses when they are chosen.
type Host struct {
	Name       string
	Network    string      // the interface or CIDR that it is to use; "": any
	By         string      // who says so: "--iface", or "iface=" of the host's own entry
	Declared   netip.Addr  // addr= of the hostfile; zero: none
	Reached    netip.Addr  // where SSH reached it, or, for the launcher's own host, where its SSH connections come from
	Interfaces []Interface // nil: not known
}

// Interface is a network interface of a host.
type Interface struct {
	Name  string
	Up    bool
	Addrs []netip.Prefix // in the kernel's order
}

// Choice is where a host is reached.
type Choice struct {
	Addrs []netip.Addr // the best first; with several, probes decide
	Iface string       // the interface that the user chose; "": none was
}

// Choose returns where the other hosts reach each host: on the network
// that the user names, else the declared address, else where SSH reached it,
// else those of its own that could serve. Its error names every host that is
// not on its network.
//
// Loopback is no address for others, unless no host has anything better, as
// when all of them are on one machine. An address that two hosts own, such as
// that of a container bridge, leads nowhere in particular.
func Choose(hosts []Host) ([]Choice, error) {
	choices := make([]Choice, len(hosts))
	owners := map[netip.Addr]int{}
	for _, h := range hosts {
		for _, a := range unique(append(Own(h.Interfaces, false), h.Reached)) {
			owners[a]++
		}
	}
	useful := make([][]netip.Addr, len(hosts))
	// One host without a useful address is reason enough to stay on loopback
	// only if none has one.
	anyUseful := false
	for i, h := range hosts {
		useful[i] = slices.DeleteFunc(h.outer(), func(a netip.Addr) bool { return owners[a] > 1 })
		anyUseful = anyUseful || len(hosts) > 1 && (h.Declared.IsValid() || len(useful[i]) > 0)
	}
	var errs []error
	for i, h := range hosts {
		switch {
		case h.Network != "":
			var err error
			if choices[i], err = h.onNetwork(); err != nil {
				errs = append(errs, err)
			}
			if h.By == "iface=" && h.Declared.IsValid() {
				choices[i].Addrs = []netip.Addr{h.Declared}
			}
		case h.Declared.IsValid():
			choices[i].Addrs = []netip.Addr{h.Declared}
		case anyUseful && len(useful[i]) > 0:
			choices[i].Addrs = useful[i]
		case h.Reached.IsValid():
			choices[i].Addrs = []netip.Addr{h.Reached.Unmap()}
		default:
			choices[i].Addrs = []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1})}
		}
	}
	if len(errs) == 0 {
		useOneFamily(choices)
	}
	return choices, errors.Join(errs...)
}

// Own lists the addresses of interfaces, or of those that are up.
func Own(interfaces []Interface, up bool) (addrs []netip.Addr) {
	for _, i := range interfaces {
		for _, p := range i.Addrs {
			if i.Up || !up {
				addrs = append(addrs, p.Addr())
			}
		}
	}
	return addrs
}

// outer lists the addresses at which the host might be reached by others. Where
// SSH reached it by an address that is not its own, something on the way
// translates, and only from outside.
func (h *Host) outer() []netip.Addr {
	addrs := Own(h.Interfaces, true)
	if h.Interfaces == nil || slices.Contains(addrs, h.Reached.Unmap()) {
		addrs = append([]netip.Addr{h.Reached}, addrs...)
	}
	return slices.DeleteFunc(unique(addrs), func(a netip.Addr) bool {
		return a.IsLoopback() || a.IsLinkLocalUnicast() // the latter need a zone, which means nothing elsewhere
	})
}

// onNetwork returns the addresses that the host has on its network.
func (h *Host) onNetwork() (Choice, error) {
	cidr, err := netip.ParsePrefix(h.Network)
	byName := err != nil
	for _, i := range h.Interfaces {
		if byName && i.Name != h.Network {
			continue
		}
		c := Choice{Iface: i.Name}
		for _, p := range i.Addrs {
			a := p.Addr().Unmap()
			if byName && !a.IsLinkLocalUnicast() || !byName && cidr.Contains(a) {
				c.Addrs = append(c.Addrs, a)
			}
		}
		switch {
		case byName && !i.Up:
			return c, fmt.Errorf("%s: interface %s (%s) is down; it has %s", h.Name, h.Network, h.By, h.list())
		case len(c.Addrs) > 0:
			c.Addrs = unique(c.Addrs)
			return c, nil
		case byName:
			return c, fmt.Errorf("%s: interface %s (%s) has no address; it has %s", h.Name, h.Network, h.By, h.list())
		}
	}
	if byName {
		return Choice{}, fmt.Errorf("%s has no interface %s (%s); it has %s", h.Name, h.Network, h.By, h.list())
	}
	return Choice{}, fmt.Errorf("%s has no address in %s (%s); it has %s", h.Name, h.Network, h.By, h.list())
}

// list names the host's interfaces, for people.
func (h *Host) list() string {
	var list []string
	for _, i := range h.Interfaces {
		text := i.Name
		for _, p := range i.Addrs {
			text += " " + p.String()
		}
		if !i.Up {
			text += " (down)"
		}
		list = append(list, text)
	}
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}

// useOneFamily leaves addresses of one family, if every host has one of it: a
// socket that is bound to an address of IPv4 does not reach one of IPv6.
func useOneFamily(choices []Choice) {
	first := choices[0].Addrs[0].Is4()
	for _, v4 := range []bool{first, !first} {
		other := func(a netip.Addr) bool { return a.Is4() != v4 }
		if !slices.ContainsFunc(choices, func(c Choice) bool {
			return !slices.ContainsFunc(c.Addrs, func(a netip.Addr) bool { return !other(a) })
		}) {
			for i := range choices {
				choices[i].Addrs = slices.DeleteFunc(choices[i].Addrs, other)
			}
			return
		}
	}
}

// ByName returns the address of a host that was reached without telling
// where, as by srun: the one of its own that its name has here. It is zero if
// the name has none, or takes long to look up, or there is but one to choose.
func ByName(ctx context.Context, name string, own []netip.Addr) netip.Addr {
	own = slices.DeleteFunc(unique(own), netip.Addr.IsLoopback)
	if len(own) < 2 {
		return netip.Addr{}
	}
	ctx, cancel := context.WithTimeout(ctx, lookupPatience)
	defer cancel()
	named, _ := net.DefaultResolver.LookupNetIP(ctx, "ip", name)
	for _, a := range unique(named) {
		if slices.Contains(own, a) {
			return a
		}
	}
	return netip.Addr{}
}

// lookupPatience bounds the look-up of a name that the job can do without.
const lookupPatience = 2 * time.Second

// unique returns the valid addresses of list, each once, in order.
func unique(list []netip.Addr) []netip.Addr {
	var kept []netip.Addr
	for _, a := range list {
		if a = a.Unmap(); a.IsValid() && !slices.Contains(kept, a) {
			kept = append(kept, a)
		}
	}
	return kept
}

// Read keeps of what an agent told the addresses that are some.
func Read(told []wire.Interface) []Interface {
	var list []Interface
	for _, t := range told {
		i := Interface{Name: t.Name, Up: t.Up}
		for _, s := range t.Addrs {
			if p, err := netip.ParsePrefix(s); err == nil {
				i.Addrs = append(i.Addrs, p)
			}
		}
		list = append(list, i)
	}
	return list
}
