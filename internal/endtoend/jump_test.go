//go:build linux

package endtoend

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/internal/testhost/cluster"
)

// Hosts that the head reaches through another only: it gets not a packet from
// them.
func TestHostsBehindAJumpHost(t *testing.T) {
	c := stage(t, cluster.Config{Hosts: 4, Slots: 1})
	bastion, behind := c.Hosts[0], c.Hosts[1:]
	require.NoError(t, c.Head.CutIncoming(behind...))
	hosts, err := os.ReadFile(c.Hostfile)
	require.NoError(t, err)
	_, rest, _ := strings.Cut(string(hosts), "\n")
	require.NoError(t, os.WriteFile(c.Hostfile, []byte(rest), 0o644))

	ask := []string{"sh", "-c", "echo $GORUN_RANK $GORUN_ADDR $MASTER_ADDR"}
	check := func(out string) {
		t.Helper()
		for r, got := range words(t, out, len(behind)) {
			require.Equal(t, []string{behind[r].Addr.String(), behind[0].Addr.String()}, got, "where the jump host reached it")
		}
	}
	check(run(t, c, append([]string{"-J", bastion.Name}, ask...)...))
	run(t, c, "-J", bastion.Name, "--stage", "./allreduce")

	// The same by the configuration, and with the system's ssh.
	config, err := os.ReadFile(c.SSHConfig)
	require.NoError(t, err)
	names := ""
	for _, h := range behind {
		names += " " + h.Name
	}
	config = append(fmt.Appendf(nil, "Host%s\n\tProxyJump %s\n\n", names, bastion.Name), config...)
	require.NoError(t, os.WriteFile(c.SSHConfig, config, 0o644))
	check(run(t, c, ask...))
	check(run(t, c, append([]string{"--rsh", "ssh"}, ask...)...))
}
