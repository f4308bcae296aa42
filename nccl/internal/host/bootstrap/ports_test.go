package bootstrap

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestListenKeepsToThePorts(t *testing.T) {
	addr := netip.MustParseAddr("127.0.0.1")
	any, err := listen(addr)
	require.NoError(t, err)
	defer any.Close()
	port := netip.MustParseAddrPort(any.Addr().String()).Port()

	t.Setenv(portsVar, fmt.Sprintf("%d-%d", port, port))
	_, err = listen(addr)
	require.ErrorContains(t, err, "is in use at 127.0.0.1")
	any.Close()
	l, err := listen(addr)
	require.NoError(t, err)
	defer l.Close()
	require.Equal(t, port, netip.MustParseAddrPort(l.Addr().String()).Port())

	for _, value := range []string{"1", "2-1", "0-5", "1-65536", "a-b", "1-2-3"} {
		t.Setenv(portsVar, value)
		_, err := listen(addr)
		require.ErrorContains(t, err, "expected two port numbers", value)
	}
}
