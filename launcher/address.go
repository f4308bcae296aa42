package launcher

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"time"
)

// candidate is what is known of a host's addresses when they are chosen.
type candidate struct {
	declared netip.Addr   // addr= of the hostfile; zero: none
	reached  netip.Addr   // where SSH reached it, or, for the launcher's own host, where its SSH connections come from
	own      []netip.Addr // of its interfaces
}

// chooseAddresses returns for each host the address at which the others reach
// it: the declared one, else where it was reached, else one of its own.
//
// Loopback is no address for others, unless no host has anything better, as
// when all of them are on one machine. An address that two hosts own, such as
// that of a container bridge, leads nowhere in particular.
func chooseAddresses(hosts []candidate) []netip.Addr {
	owners := map[netip.Addr]int{}
	for _, h := range hosts {
		for _, a := range unique(append(slices.Clone(h.own), h.reached)) {
			owners[a]++
		}
	}
	useful := func(h candidate) []netip.Addr {
		return slices.DeleteFunc(unique(append([]netip.Addr{h.reached}, h.own...)), func(a netip.Addr) bool {
			return a.IsLoopback() || owners[a] > 1
		})
	}
	// One host without a useful address is reason enough to stay on loopback
	// only if none has one.
	anyUseful := len(hosts) > 1 && slices.ContainsFunc(hosts, func(h candidate) bool {
		return h.declared.IsValid() || len(useful(h)) > 0
	})
	chosen := make([]netip.Addr, len(hosts))
	for i, h := range hosts {
		switch best := useful(h); {
		case h.declared.IsValid():
			chosen[i] = h.declared
		case anyUseful && len(best) > 0:
			chosen[i] = best[0]
		case h.reached.IsValid():
			chosen[i] = h.reached
		default:
			chosen[i] = netip.AddrFrom4([4]byte{127, 0, 0, 1})
		}
	}
	return chosen
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

// parseAddrs keeps what of list are IP addresses.
func parseAddrs(list []string) []netip.Addr {
	var addrs []netip.Addr
	for _, s := range list {
		if a, err := netip.ParseAddr(s); err == nil {
			addrs = append(addrs, a)
		}
	}
	return addrs
}
