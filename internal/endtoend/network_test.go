//go:build linux

package endtoend

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/internal/testhost/cluster"
)

// ip runs commands of ip(8) on a host.
func ip(t *testing.T, h *cluster.Host, commands ...string) {
	t.Helper()
	for _, command := range commands {
		_, err := h.Run(t.Context(), cluster.Root, "ip", strings.Fields(command)...)
		require.NoError(t, err)
	}
}

// words returns what each rank printed, by rank: a line whose first word is the
// rank's number.
func words(t *testing.T, out string, ranks int) [][]string {
	t.Helper()
	all := make([][]string, ranks)
	for line := range strings.Lines(out) {
		var rank int
		fields := strings.Fields(line)
		_, err := fmt.Sscan(fields[0], &rank)
		require.NoError(t, err, line)
		all[rank] = fields[1:]
	}
	return all
}

func TestBridgesOfContainersAreNobodysAddress(t *testing.T) {
	c := stage(t, cluster.Config{Hosts: 2, Slots: 1})
	for _, h := range c.Hosts {
		ip(t, h,
			"link add docker0 type bridge", "addr add 172.17.0.1/16 dev docker0", "link set docker0 up",
			"link add c0 type veth peer name c1", "link set c0 master docker0 up", "link set c1 up")
	}
	out := run(t, c, "sh", "-c", "echo $GORUN_RANK $GORUN_ADDR $MASTER_ADDR $(getent ahostsv4 $(hostname) | head -1)")
	for r, got := range words(t, out, 2) {
		require.Equal(t, c.Hosts[r].Addr.String(), got[0])
		require.Equal(t, c.Hosts[0].Addr.String(), got[1], "not the bridge's, nor what the host takes itself for")
		require.Equal(t, "127.0.1.1", got[2], "what the host takes itself for")
	}
	run(t, c, "--stage", "./allreduce")
}

func TestTheNetworkIsFoundOnEachHost(t *testing.T) {
	c := stage(t, cluster.Config{Hosts: 2, Slots: 1})
	for i, name := range []string{"eno1", "bond0"} {
		ip(t, c.Hosts[i],
			"link add link eth0 name "+name+" type macvlan mode bridge", "link set "+name+" up",
			fmt.Sprintf("addr add 10.7.0.%d/24 dev %s", i+1, name))
	}
	out := run(t, c, "--iface", "10.7.0.0/24", "sh", "-c", "echo $GORUN_RANK $GORUN_ADDR $MASTER_ADDR $NCCL_SOCKET_IFNAME")
	require.Equal(t, [][]string{
		{"10.7.0.1", "10.7.0.1", "=eno1"},
		{"10.7.0.2", "10.7.0.1", "=bond0"},
	}, words(t, out, 2))
	run(t, c, "--iface", "10.7.0.0/24", "--stage", "./allreduce")

	j := gorun(c, "--iface", "eno1", "true")
	require.NoError(t, j.Start())
	require.Equal(t, 2, j.status(t))
	require.Contains(t, j.stderr.String(), "node2 has no interface eno1 (--iface); it has ")
	require.Contains(t, j.stderr.String(), "bond0 10.7.0.2/24")
	require.NotContains(t, j.stderr.String(), "node1 has")
}

func TestHostsFindOutWhereTheyReachEachOther(t *testing.T) {
	c := stage(t, cluster.Config{Hosts: 3, Slots: 1})
	for i, h := range c.Hosts {
		ip(t, h, fmt.Sprintf("addr add 10.7.0.%d/24 dev eth0", i+1))
	}
	ask := []string{"sh", "-c", "echo $GORUN_RANK $GORUN_ADDR $MASTER_ADDR"}
	for r, got := range words(t, run(t, c, ask...), 3) {
		require.Equal(t, []string{c.Hosts[r].Addr.String(), c.Hosts[0].Addr.String()}, got, "where SSH reached it")
	}

	// Behind a firewall that lets SSH in, another network is what is left.
	for _, h := range c.Hosts {
		require.NoError(t, h.CutIncoming(without(c.Hosts, h)...))
	}
	for r, got := range words(t, run(t, c, ask...), 3) {
		require.Equal(t, []string{fmt.Sprintf("10.7.0.%d", r+1), "10.7.0.1"}, got)
	}
	run(t, c, "--ports", "40000-40099", "--stage", "./allreduce")

	// Where nothing is left, those who do not reach each other are named.
	ip(t, c.Hosts[1], "route add blackhole 10.7.0.1")
	j := gorun(c, ask...)
	require.NoError(t, j.Run(), "%s", &j.stderr)
	require.Contains(t, j.stderr.String(), fmt.Sprintf("node1: node2 does not reach it at %v or 10.7.0.1: ", c.Hosts[0].Addr))
	require.NotContains(t, j.stderr.String(), "node3 does not reach")
}

func TestThePreflightFindsAPairThatDoesNotReachEachOther(t *testing.T) {
	c := stage(t, cluster.Config{Hosts: 4, Slots: 1})
	ip(t, c.Hosts[1], fmt.Sprintf("route add blackhole %v", c.Hosts[2].Addr))
	preflight := func(status int, want string, flags ...string) (stdout string) {
		j := gorun(c, append(flags, "--preflight", "sh", "-c", "echo $GORUN_RANK $GORUN_HOST")...)
		var out strings.Builder
		j.Cmd.Stdout = &out
		require.NoError(t, j.Start())
		require.Equal(t, status, j.status(t), "%s", &j.stderr)
		require.Contains(t, j.stderr.String(), want)
		return out.String()
	}
	pair := fmt.Sprintf("pre-flight: it does not reach node2 at %v: ", c.Hosts[1].Addr)
	require.Empty(t, preflight(125, "gorun: error: node3: "+pair))
	out := preflight(0, "warning: node3: node4 takes its place: "+pair, "--spares", "1")
	require.Equal(t, [][]string{{"node1"}, {"node2"}, {"node4"}}, words(t, out, 3))
}

func without(hosts []*cluster.Host, h *cluster.Host) (others []*cluster.Host) {
	for _, other := range hosts {
		if other != h {
			others = append(others, other)
		}
	}
	return others
}
