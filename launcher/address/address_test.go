package address

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// at is a host that SSH reached at an address, with interfaces as ip(8) might
// list them: "eth0 10.0.0.1/24, docker0 172.17.0.1/16 (down)".
func at(reached, interfaces string) Host {
	c := Host{Name: "h"}
	c.Reached, _ = netip.ParseAddr(reached)
	for text := range strings.SplitSeq(interfaces, ", ") {
		words := strings.Fields(text)
		if len(words) == 0 {
			continue
		}
		i := Interface{Name: words[0], Up: true}
		for _, word := range words[1:] {
			if word == "(down)" {
				i.Up = false
			} else {
				i.Addrs = append(i.Addrs, netip.MustParsePrefix(word))
			}
		}
		c.Interfaces = append(c.Interfaces, i)
	}
	return c
}

// on has the host use a network.
func (h Host) on(network string) Host {
	h.Network, h.By = network, "--iface"
	return h
}

func TestChoose(t *testing.T) {
	declared := at("10.0.0.1", "eth0 10.0.0.1/24")
	declared.Declared = netip.MustParseAddr("10.9.0.1")
	both := declared
	both.Network, both.By = "eth0", "iface="
	for name, c := range map[string]struct {
		hosts []Host
		want  []string // addresses that probes decide between, and the interface that the user chose
	}{
		"one host talks to itself": {
			[]Host{at("", "eth0 10.0.0.1/24")},
			[]string{"127.0.0.1"}},
		"where SSH reached them, else where they might be": {
			[]Host{at("10.0.0.1", "ib0 192.168.0.1/24, eth0 10.0.0.1/24"), at("10.0.0.2", "lo 127.0.0.1/8, eth0 10.0.0.2/24")},
			[]string{"10.0.0.1 192.168.0.1", "10.0.0.2"}},
		"what the hostfile says comes first": {
			[]Host{declared, at("10.0.0.2", "eth0 10.0.0.2/24")},
			[]string{"10.9.0.1", "10.0.0.2"}},
		"a container bridge that every host has is nobody's": {
			[]Host{
				at("127.0.0.1", "docker0 172.17.0.1/16, eth0 10.0.0.1/24"),
				at("10.0.0.2", "docker0 172.17.0.1/16, eth0 10.0.0.2/24")},
			[]string{"10.0.0.1", "10.0.0.2"}},
		"one that leads nowhere is no candidate": {
			[]Host{at("10.0.0.1", "virbr0 192.168.122.1/24 (down), eth0 10.0.0.1/24"), at("10.0.0.2", "eth0 10.0.0.2/24")},
			[]string{"10.0.0.1", "10.0.0.2"}},
		"loopback, where all hosts are on one machine": {
			[]Host{at("127.0.0.2", "lo 127.0.0.1/8, eth0 10.0.0.1/24"), at("127.0.0.3", "lo 127.0.0.1/8, eth0 10.0.0.1/24")},
			[]string{"127.0.0.2", "127.0.0.3"}},
		"a forwarded port is not an address for others": {
			[]Host{at("127.0.0.1", "eth0 10.0.0.1/24"), at("127.0.0.1", "eth0 10.0.0.2/24")},
			[]string{"10.0.0.1", "10.0.0.2"}},
		"nor is one that is translated on the way": {
			[]Host{at("203.0.113.1", "eth0 10.0.0.1/24"), at("203.0.113.2", "eth0 10.0.0.2/24")},
			[]string{"10.0.0.1", "10.0.0.2"}},
		"an IPv4 address in IPv6 clothes is the same address": {
			[]Host{at("::ffff:10.0.0.1", ""), at("10.0.0.2", "")},
			[]string{"10.0.0.1", "10.0.0.2"}},
		"one family for all": {
			[]Host{at("fd00::1", "eth0 10.0.0.1/24 fd00::1/64"), at("10.0.0.2", "eth0 10.0.0.2/24 fe80::2/64")},
			[]string{"10.0.0.1", "10.0.0.2"}},
		"an interface by its exact name": {
			[]Host{at("10.0.0.1", "eth0 10.0.0.1/24, bond0.20 10.2.0.1/24, bond0 10.1.0.1/24 fd00::1/64").on("bond0"), at("10.0.0.2", "bond0 10.1.0.2/24").on("bond0")},
			[]string{"10.1.0.1 (bond0)", "10.1.0.2 (bond0)"}},
		"a network, whose interfaces have other names": {
			[]Host{at("10.0.0.1", "eth0 10.0.0.1/24, eno1 10.7.0.1/24").on("10.7.0.0/16"), at("10.0.0.2", "eth0 10.0.0.2/24 10.7.3.2/24").on("10.7.0.0/16")},
			[]string{"10.7.0.1 (eno1)", "10.7.3.2 (eth0)"}},
		"a network over what the hostfile says": {
			[]Host{declared.on("eth0"), at("10.0.0.2", "eth0 10.0.0.2/24")},
			[]string{"10.0.0.1 (eth0)", "10.0.0.2"}},
		"an entry that says both": {
			[]Host{both, at("10.0.0.2", "eth0 10.0.0.2/24")},
			[]string{"10.9.0.1 (eth0)", "10.0.0.2"}},
		"also on one host": {
			[]Host{at("", "eth0 10.0.0.1/24").on("eth0")},
			[]string{"10.0.0.1 (eth0)"}},
	} {
		t.Run(name, func(t *testing.T) {
			choices, err := Choose(c.hosts)
			require.NoError(t, err)
			var got []string
			for _, c := range choices {
				var words []string
				for _, a := range c.Addrs {
					words = append(words, a.String())
				}
				if c.Iface != "" {
					words = append(words, "("+c.Iface+")")
				}
				got = append(got, strings.Join(words, " "))
			}
			require.Equal(t, c.want, got)
		})
	}
}

func TestChooseNamesHostsWithoutTheNetwork(t *testing.T) {
	const has = "lo 127.0.0.1/8, eth0 10.0.0.1/24, ib0 192.168.0.1/24 (down), tap0 fe80::1/64"
	for network, want := range map[string]string{
		"bond0":       "h has no interface bond0 (--iface); it has " + has,
		"eth":         "h has no interface eth (--iface); it has " + has,
		"ib0":         "h: interface ib0 (--iface) is down; it has " + has,
		"tap0":        "h: interface tap0 (--iface) has no address; it has " + has,
		"10.7.0.0/16": "h has no address in 10.7.0.0/16 (--iface); it has " + has,
	} {
		_, err := Choose([]Host{at("10.0.0.1", has).on(network), at("10.0.0.2", "eth0 10.0.0.2/24").on("eth0")})
		require.EqualError(t, err, want)
	}
}

func TestChooseAlwaysFindsSome(t *testing.T) {
	address := rapid.SampledFrom([]string{"", "127.0.0.1", "10.0.0.1", "10.0.0.2", "172.17.0.1", "fd00::1", "fe80::1"})
	rapid.Check(t, func(t *rapid.T) {
		var hosts []Host
		for range rapid.IntRange(1, 5).Draw(t, "hosts") {
			var list []string
			for _, a := range rapid.SliceOfN(address, 0, 3).Draw(t, "own") {
				if a != "" {
					list = append(list, "i "+a+"/24")
				}
			}
			hosts = append(hosts, at(address.Draw(t, "reached"), strings.Join(list, ", ")))
		}
		choices, err := Choose(hosts)
		require.NoError(t, err)
		for _, c := range choices {
			require.NotEmpty(t, c.Addrs)
			require.Empty(t, c.Iface)
		}
	})
}
