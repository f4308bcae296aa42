package launcher

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/launcher/wire"
)

func TestParsePorts(t *testing.T) {
	r, err := parsePorts("40000-40099")
	require.NoError(t, err)
	require.Equal(t, wire.PortRange{First: 40000, Last: 40099}, r)
	for _, s := range []string{"40000", "2-1", "0-9", "1-65536", "a-b", "1-2-3", "-1-2", "+1-2"} {
		_, err := parsePorts(s)
		require.ErrorContains(t, err, "--ports: expected two port numbers", s)
	}
}
