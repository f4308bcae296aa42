//go:build linux

package cluster

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Cut cuts the host's link at the bridge, as if the cable were pulled: the host
// keeps its addresses and routes, and packets in either direction are lost
// without a word. Since kernels forget their neighbours' hardware addresses when
// a link fails, a few packets may wait for those and arrive after Heal.
func (h *Host) Cut() error {
	return h.cluster.network.namespaces.ip("link set " + h.port() + " down")
}

// CutOutgoing discards what the host sends to the peers, all others if none is
// given, by a blackhole route on it. What they send arrives. Connections see
// silence; a socket that sends single packets, or connects, is told EINVAL. For
// loss that the sender cannot notice see DropOutgoing.
func (h *Host) CutOutgoing(peers ...*Host) error {
	for _, peer := range h.orOthers(peers) {
		if err := h.blackhole(peer); err != nil {
			return err
		}
	}
	return nil
}

// CutIncoming discards what the peers, all others if none is given, send to the
// host, by blackhole routes on them. See CutOutgoing.
func (h *Host) CutIncoming(peers ...*Host) error {
	for _, peer := range h.orOthers(peers) {
		if err := peer.blackhole(h); err != nil {
			return err
		}
	}
	return nil
}

func (h *Host) orOthers(peers []*Host) []*Host {
	if len(peers) > 0 {
		return peers
	}
	return slices.DeleteFunc(h.cluster.all(), func(peer *Host) bool { return peer == h })
}

// blackhole adds routes that discard what the host sends to a peer. They are
// more specific than that of the subnet.
func (h *Host) blackhole(to *Host) error {
	var lines []string
	for _, addr := range to.addrs() {
		lines = append(lines, "route replace blackhole "+addr.String())
	}
	if err := h.network.ip(lines...); err != nil {
		return err
	}
	h.cluster.mu.Lock()
	defer h.cluster.mu.Unlock()
	h.cluster.blackholes[[2]*Host{h, to}] = true
	return nil
}

func (h *Host) addrs() []netip.Addr {
	addrs := []netip.Addr{h.Addr}
	if h.Addr6.IsValid() {
		addrs = append(addrs, h.Addr6)
	}
	return addrs
}

// Slow limits the host's link to a rate, in bytes per second, in each direction,
// by token buckets. What a queue of a tenth of a second, or 64 KiB, cannot hold
// is dropped.
func (h *Host) Slow(rate int) error {
	if rate <= 0 {
		return fmt.Errorf("rate %d of %s: expected a positive number of bytes per second", rate, h.Name)
	}
	// The bucket must hold what is sent between two ticks of the coarsest kernel
	// clock, 100 a second (tc-tbf(8)).
	burst := max(rate/100, 16<<10)
	queue := max(rate/10, 64<<10)
	bucket := fmt.Sprintf("tbf rate %dbps burst %d limit %d", rate, burst, queue)
	if err := h.cluster.network.namespaces.tc("qdisc replace dev " + h.port() + " root " + bucket); err != nil {
		return err
	}
	return h.network.tc("qdisc replace dev " + hostInterface + " root " + bucket)
}

// tc runs a command of tc(8) inside the namespaces.
func (n namespaces) tc(command string) error {
	return n.run("tc", "", strings.Fields(command)...)
}

// Drop loses a random share of the packets, in percent, in each direction. It
// replaces what DropIncoming and DropOutgoing have set.
func (h *Host) Drop(percent float64) error { return h.drop(percent, percent) }

// DropIncoming loses a random share of the packets that come to the host, in
// percent, and none of those that it sends. The sender cannot notice.
func (h *Host) DropIncoming(percent float64) error { return h.drop(percent, 0) }

// DropOutgoing loses a random share of the packets that the host sends, in
// percent, and none of those that come. The host cannot notice.
func (h *Host) DropOutgoing(percent float64) error { return h.drop(0, percent) }

func (h *Host) drop(incoming, outgoing float64) error {
	if !(0 <= min(incoming, outgoing) && max(incoming, outgoing) <= 100) {
		return fmt.Errorf("loss %v and %v of %s: expected 0 to 100 percent", incoming, outgoing, h.Name)
	}
	// Packets are dropped where they pass the bridge: the hosts see nothing of it.
	const parts = 10_000
	rule := func(direction string, percent float64) string {
		count := int(percent * parts / 100)
		if count == parts { // nft refuses a comparison that always holds
			return fmt.Sprintf("%s %q drop", direction, h.port())
		}
		return fmt.Sprintf("%s %q numgen random mod %d < %d drop", direction, h.port(), parts, count)
	}
	return h.cluster.network.namespaces.nft(h.filter(
		rule("oifname", incoming),
		rule("iifname", outgoing),
	))
}

// filter returns nft commands that make the rules the only ones of the host, in
// one transaction.
func (h *Host) filter(rules ...string) string {
	// Deleting a table that is not there fails; adding one that is does not.
	return fmt.Sprintf(`
table bridge %[1]s { }
delete table bridge %[1]s
table bridge %[1]s {
	chain forward {
		type filter hook forward priority 0
		%[2]s
	}
}`, h.port(), strings.Join(rules, "\n\t\t"))
}

// nft runs commands of nft(8) inside the namespaces.
func (n namespaces) nft(commands string) error { return n.run("nft", commands, "-f", "-") }

// Heal ends all disturbances of the host's link that the methods of this type
// have made, those between it and other hosts included. It may take the kernel a
// second to use a link again that was cut.
func (h *Host) Heal() error {
	h.cluster.mu.Lock()
	var routes [][2]*Host
	for route := range h.cluster.blackholes {
		if slices.Contains(route[:], h) {
			routes = append(routes, route)
		}
	}
	h.cluster.mu.Unlock()
	for _, route := range routes {
		if err := route[0].unblackhole(route[1]); err != nil {
			return err
		}
	}
	if err := h.undelay(); err != nil {
		return err
	}
	net := h.cluster.network.namespaces
	if err := net.nft(h.filter()); err != nil {
		return err
	}
	for _, n := range []struct {
		namespaces namespaces
		device     string
	}{{net, h.port()}, {h.network, hostInterface}} {
		// Replacing a queue by none gives the device its first one back.
		if err := n.namespaces.tc("qdisc replace dev " + n.device + " root noqueue"); err != nil {
			return err
		}
	}
	return net.ip("link set " + h.port() + " up")
}

func (h *Host) unblackhole(to *Host) error {
	var lines []string
	for _, addr := range to.addrs() {
		lines = append(lines, "route del blackhole "+addr.String())
	}
	if err := h.network.ip(lines...); err != nil {
		return err
	}
	h.cluster.mu.Lock()
	defer h.cluster.mu.Unlock()
	delete(h.cluster.blackholes, [2]*Host{h, to})
	return nil
}
