package launcher

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

// candidate is what is known of a host's addresses when they are chosen.
type candidate struct {
	name       string
	network    string     // the interface or CIDR that it is to use; "": any
	by         string     // who says so: "--iface", or "iface=" of the host's own entry
	declared   netip.Addr // addr= of the hostfile; zero: none
	reached    netip.Addr // where SSH reached it, or, for the launcher's own host, where its SSH connections come from
	interfaces []iface    // nil: not known
}

// iface is a network interface of a host.
type iface struct {
	name  string
	up    bool
	addrs []netip.Prefix // in the kernel's order
}

// choice is where a host is reached.
type choice struct {
	addrs []netip.Addr // the best first; with several, probes decide
	iface string       // the interface that the user chose; "": none was
}

// chooseAddresses returns where the other hosts reach each host: on the network
// that the user names, else the declared address, else where SSH reached it,
// else those of its own that could serve. Its error names every host that is
// not on its network.
//
// Loopback is no address for others, unless no host has anything better, as
// when all of them are on one machine. An address that two hosts own, such as
// that of a container bridge, leads nowhere in particular.
func chooseAddresses(hosts []candidate) ([]choice, error) {
	choices := make([]choice, len(hosts))
	owners := map[netip.Addr]int{}
	for _, h := range hosts {
		for _, a := range unique(append(ownAddrs(h.interfaces, false), h.reached)) {
			owners[a]++
		}
	}
	useful := make([][]netip.Addr, len(hosts))
	// One host without a useful address is reason enough to stay on loopback
	// only if none has one.
	anyUseful := false
	for i, h := range hosts {
		useful[i] = slices.DeleteFunc(h.outer(), func(a netip.Addr) bool { return owners[a] > 1 })
		anyUseful = anyUseful || len(hosts) > 1 && (h.declared.IsValid() || len(useful[i]) > 0)
	}
	var errs []error
	for i, h := range hosts {
		switch {
		case h.network != "":
			var err error
			if choices[i], err = h.onNetwork(); err != nil {
				errs = append(errs, err)
			}
			if h.by == "iface=" && h.declared.IsValid() {
				choices[i].addrs = []netip.Addr{h.declared}
			}
		case h.declared.IsValid():
			choices[i].addrs = []netip.Addr{h.declared}
		case anyUseful && len(useful[i]) > 0:
			choices[i].addrs = useful[i]
		case h.reached.IsValid():
			choices[i].addrs = []netip.Addr{h.reached.Unmap()}
		default:
			choices[i].addrs = []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1})}
		}
	}
	if len(errs) == 0 {
		useOneFamily(choices)
	}
	return choices, errors.Join(errs...)
}

// ownAddrs lists the addresses of interfaces, or of those that are up.
func ownAddrs(interfaces []iface, up bool) (addrs []netip.Addr) {
	for _, i := range interfaces {
		for _, p := range i.addrs {
			if i.up || !up {
				addrs = append(addrs, p.Addr())
			}
		}
	}
	return addrs
}

// outer lists the addresses at which the host might be reached by others. Where
// SSH reached it by an address that is not its own, something on the way
// translates, and only from outside.
func (h *candidate) outer() []netip.Addr {
	addrs := ownAddrs(h.interfaces, true)
	if h.interfaces == nil || slices.Contains(addrs, h.reached.Unmap()) {
		addrs = append([]netip.Addr{h.reached}, addrs...)
	}
	return slices.DeleteFunc(unique(addrs), func(a netip.Addr) bool {
		return a.IsLoopback() || a.IsLinkLocalUnicast() // the latter need a zone, which means nothing elsewhere
	})
}

// onNetwork returns the addresses that the host has on its network.
func (h *candidate) onNetwork() (choice, error) {
	cidr, err := netip.ParsePrefix(h.network)
	byName := err != nil
	for _, i := range h.interfaces {
		if byName && i.name != h.network {
			continue
		}
		c := choice{iface: i.name}
		for _, p := range i.addrs {
			a := p.Addr().Unmap()
			if byName && !a.IsLinkLocalUnicast() || !byName && cidr.Contains(a) {
				c.addrs = append(c.addrs, a)
			}
		}
		switch {
		case byName && !i.up:
			return c, fmt.Errorf("%s: interface %s (%s) is down; it has %s", h.name, h.network, h.by, h.list())
		case len(c.addrs) > 0:
			c.addrs = unique(c.addrs)
			return c, nil
		case byName:
			return c, fmt.Errorf("%s: interface %s (%s) has no address; it has %s", h.name, h.network, h.by, h.list())
		}
	}
	if byName {
		return choice{}, fmt.Errorf("%s has no interface %s (%s); it has %s", h.name, h.network, h.by, h.list())
	}
	return choice{}, fmt.Errorf("%s has no address in %s (%s); it has %s", h.name, h.network, h.by, h.list())
}

// list names the host's interfaces, for people.
func (h *candidate) list() string {
	var list []string
	for _, i := range h.interfaces {
		text := i.name
		for _, p := range i.addrs {
			text += " " + p.String()
		}
		if !i.up {
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
func useOneFamily(choices []choice) {
	first := choices[0].addrs[0].Is4()
	for _, v4 := range []bool{first, !first} {
		other := func(a netip.Addr) bool { return a.Is4() != v4 }
		if !slices.ContainsFunc(choices, func(c choice) bool {
			return !slices.ContainsFunc(c.addrs, func(a netip.Addr) bool { return !other(a) })
		}) {
			for i := range choices {
				choices[i].addrs = slices.DeleteFunc(choices[i].addrs, other)
			}
			return
		}
	}
}

// addressByName returns the address of a host that was reached without telling
// where, as by srun: the one of its own that its name has here. It is zero if
// the name has none, or takes long to look up, or there is but one to choose.
func addressByName(ctx context.Context, name string, own []netip.Addr) netip.Addr {
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

// readInterfaces keeps of what an agent told the addresses that are some.
func readInterfaces(told []wire.Interface) []iface {
	var list []iface
	for _, t := range told {
		i := iface{name: t.Name, up: t.Up}
		for _, s := range t.Addrs {
			if p, err := netip.ParsePrefix(s); err == nil {
				i.addrs = append(i.addrs, p)
			}
		}
		list = append(list, i)
	}
	return list
}
