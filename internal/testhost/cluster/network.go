//go:build linux

package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"

	"golang.org/x/sys/unix"
)

// The hosts' networks, which exist inside the cluster only. node1 is the first
// host of each, node2 the second, and so on; the head is host headNumber.
var (
	Subnet  = netip.MustParsePrefix("10.231.0.0/24")
	Subnet6 = netip.MustParsePrefix("fd00:231::/64")
)

const headNumber = 254

const (
	bridge = "br0"
	// hostInterface is a host's end of its link.
	hostInterface = "eth0"
)

// hostAddr returns the address in a subnet of the host with the given index.
func hostAddr(subnet netip.Prefix, index int) netip.Addr {
	if index == 0 {
		index = headNumber
	}
	addr := subnet.Addr().AsSlice()
	addr[len(addr)-1] = byte(index) // at most headNumber, as MaxHosts is less
	host, _ := netip.AddrFromSlice(addr)
	return host
}

// port is the bridge's end of the host's link.
func (h *Host) port() string { return fmt.Sprintf("port%d", h.index) }

// A network is the namespace with the bridge.
type network struct {
	namespaces namespaces
	ipv6       bool
}

func newNetwork() (*network, error) {
	n := new(network)
	err := onSpareThread(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("new network namespace: %w", err)
		}
		var err error
		n.namespaces, err = openNamespaces("/proc/thread-self", "net")
		return err
	})
	if err != nil {
		return nil, err
	}
	_, err = os.Stat("/proc/sys/net/ipv6")
	n.ipv6 = err == nil
	return n, nil
}

// families is the number of address families that hosts have.
func (n *network) families() int {
	if n.ipv6 {
		return 2
	}
	return 1
}

// connect makes the bridge and links the booted hosts to it.
func (n *network) connect(hosts []*Host) error {
	// Nothing but the hosts' ports is on the bridge, so it need not learn of loops
	// or multicast groups first and forwards at once.
	lines := []string{
		"link add " + bridge + " type bridge forward_delay 0 mcast_snooping 0",
		"link set " + bridge + " up",
	}
	for _, h := range hosts {
		lines = append(lines,
			fmt.Sprintf("link add %s type veth peer name %s netns %d", h.port(), hostInterface, h.first.Process.Pid),
			fmt.Sprintf("link set %s master %s up", h.port(), bridge))
	}
	if err := n.namespaces.ip(lines...); err != nil {
		return err
	}
	for _, h := range hosts {
		if err := h.configure(); err != nil {
			return fmt.Errorf("%s: %w", h.Name, err)
		}
	}
	return nil
}

// configure gives the linked host its addresses.
func (h *Host) configure() error {
	lines := []string{
		"link set lo up",
		fmt.Sprintf("address add %v dev %s", netip.PrefixFrom(h.Addr, Subnet.Bits()), hostInterface),
		"link set " + hostInterface + " up",
	}
	// Strict reverse-path filtering, which distributions switch on, would make a
	// route that discards what goes to a peer discard what comes from it as well.
	// The larger of "all" and the interface's own value counts.
	sysctls := []string{"ipv4/conf/all/rp_filter", "ipv4/conf/" + hostInterface + "/rp_filter"}
	if h.Addr6.IsValid() {
		sysctls = append(sysctls, "ipv6/conf/all/disable_ipv6")
		// Without nodad the address is not usable for a second.
		lines = append(lines, fmt.Sprintf("address add %v dev %s nodad", netip.PrefixFrom(h.Addr6, Subnet6.Bits()), hostInterface))
	}
	err := h.network.enter(func() error {
		for _, name := range sysctls { // /proc/sys/net is that of the reading thread
			if err := os.WriteFile("/proc/sys/net/"+name, []byte("0"), 0); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return h.network.ip(lines...)
}

func (n *network) close() error { return n.namespaces.close() }

// ip runs commands of ip(8), one a line, inside the namespaces.
func (n namespaces) ip(lines ...string) error {
	return n.run("ip", strings.Join(lines, "\n"), "-batch", "-")
}

// run runs a program with the given standard input inside the namespaces.
func (n namespaces) run(name, stdin string, args ...string) error {
	cmd := exec.Command(name, args...)
	var output bytes.Buffer
	cmd.Stdin = strings.NewReader(stdin)
	cmd.Stdout, cmd.Stderr = &output, &output
	err := n.enter(cmd.Start)
	if err == nil {
		err = cmd.Wait()
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, bytes.TrimSpace(output.Bytes()))
	}
	return nil
}

// Dial connects from the host. The address must be numeric: names would be
// looked up on the machine.
func (h *Host) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	if err := numeric(address); err != nil {
		return nil, err
	}
	var conn net.Conn
	err := h.network.enter(func() (err error) {
		conn, err = new(net.Dialer).DialContext(ctx, network, address)
		return err
	})
	return conn, err
}

// Listen announces on the host. The address must be numeric, as with Dial.
func (h *Host) Listen(ctx context.Context, network, address string) (net.Listener, error) {
	if err := numeric(address); err != nil {
		return nil, err
	}
	var listener net.Listener
	err := h.network.enter(func() (err error) {
		listener, err = new(net.ListenConfig).Listen(ctx, network, address)
		return err
	})
	return listener, err
}

// ListenPacket announces on the host. The address must be numeric, as with Dial.
func (h *Host) ListenPacket(ctx context.Context, network, address string) (net.PacketConn, error) {
	if err := numeric(address); err != nil {
		return nil, err
	}
	var conn net.PacketConn
	err := h.network.enter(func() (err error) {
		conn, err = new(net.ListenConfig).ListenPacket(ctx, network, address)
		return err
	})
	return conn, err
}

// numeric refuses addresses that need a resolver, which would run on a thread
// outside the host.
func numeric(address string) error {
	if _, err := netip.ParseAddrPort(address); err != nil {
		return errors.Join(errors.New("expected a numeric address and port"), err)
	}
	return nil
}
