package launcher

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestChooseAddresses(t *testing.T) {
	ip := netip.MustParseAddr
	for name, c := range map[string]struct {
		hosts []candidate
		want  []string
	}{
		"one host talks to itself": {
			[]candidate{{own: []netip.Addr{ip("10.0.0.1")}}},
			[]string{"127.0.0.1"}},
		"where SSH reached them": {
			[]candidate{{reached: ip("10.0.0.1"), own: []netip.Addr{ip("192.168.0.1"), ip("10.0.0.1")}}, {reached: ip("10.0.0.2")}},
			[]string{"10.0.0.1", "10.0.0.2"}},
		"what the hostfile says comes first": {
			[]candidate{{declared: ip("10.9.0.1"), reached: ip("10.0.0.1")}, {reached: ip("10.0.0.2")}},
			[]string{"10.9.0.1", "10.0.0.2"}},
		"a container bridge that every host has is nobody's": {
			[]candidate{
				{reached: ip("127.0.0.1"), own: []netip.Addr{ip("172.17.0.1"), ip("10.0.0.1")}},
				{reached: ip("10.0.0.2"), own: []netip.Addr{ip("172.17.0.1"), ip("10.0.0.2")}}},
			[]string{"10.0.0.1", "10.0.0.2"}},
		"loopback, where all hosts are on one machine": {
			[]candidate{
				{reached: ip("127.0.0.2"), own: []netip.Addr{ip("10.0.0.1")}},
				{reached: ip("127.0.0.3"), own: []netip.Addr{ip("10.0.0.1")}}},
			[]string{"127.0.0.2", "127.0.0.3"}},
		"a forwarded port is not an address for others": {
			[]candidate{
				{reached: ip("127.0.0.1"), own: []netip.Addr{ip("10.0.0.1")}},
				{reached: ip("127.0.0.1"), own: []netip.Addr{ip("10.0.0.2")}}},
			[]string{"10.0.0.1", "10.0.0.2"}},
		"an IPv4 address in IPv6 clothes is the same address": {
			[]candidate{{reached: ip("::ffff:10.0.0.1")}, {reached: ip("10.0.0.2")}},
			[]string{"10.0.0.1", "10.0.0.2"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, a := range chooseAddresses(c.hosts) {
				got = append(got, a.String())
			}
			require.Equal(t, c.want, got)
		})
	}
}
