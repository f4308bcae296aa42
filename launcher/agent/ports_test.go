//go:build linux

package agent

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/launcher/wire"
)

func TestPortsAreFreeAndDifferent(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	taken := l.Addr().(*net.TCPAddr).Port
	p := newPorts()
	defer p.close()
	found := p.answer(&wire.FindPorts{Ranges: []wire.PortRange{{}, {}, {First: taken, Last: taken}, {First: 9, Last: 8}}})
	require.Len(t, found.Ports, 4)
	require.NotEqual(t, found.Ports[0], found.Ports[1])
	for _, port := range found.Ports[:2] {
		require.GreaterOrEqual(t, port, p.first)
		require.LessOrEqual(t, port, p.last)
		l, err := net.ListenTCP("tcp", &net.TCPAddr{Port: port})
		require.NoError(t, err, "a claim is no program's business")
		require.NoError(t, l.Close())
	}
	require.Equal(t, []int{0, 0}, found.Ports[2:])
}

// What one job has found, another does not, though nothing listens there yet.
func TestAPortIsOneJobsOnly(t *testing.T) {
	one, two := newPorts(), newPorts()
	defer one.close()
	defer two.close()
	port := one.any()
	require.NotZero(t, port)
	require.Zero(t, two.find(port, port))
	require.Zero(t, one.find(port, port), "not twice in one job either")
	one.close()
	require.Equal(t, port, two.find(port, port))
}

func TestPortsAreThoseThatTheKernelDoesNotGiveAway(t *testing.T) {
	for name, c := range map[string]struct{ low, high, first, last int }{
		"below the usual":           {32768, 60999, 10000, 32767},
		"above where nothing is":    {1024, 60000, 60001, 65535},
		"anywhere where all may be": {1024, 65535, 10000, 65535},
		"below, if there are some":  {10256, 65535, 10000, 10255},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, ports{first: c.first, last: c.last}, outside(c.low, c.high))
		})
	}
}
