package launcher

import (
	"net"
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/internal/testhost/sshserver"
)

// A host that is written as an IPv6 address is reached, named and met by it.
// MASTER_ADDR has it without brackets, as torch wants it.
func TestAHostOfAnIPv6Address(t *testing.T) {
	listener, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Skipf("this host has no IPv6: %v", err)
	}
	listener.Close()
	s := sshserver.Start(t, sshserver.Config{Addr: netip.IPv6Loopback()})
	job := sh(2, `echo $GORUN_RANK $GORUN_HOST $MASTER_ADDR $GORUN_ADDR`)
	entry := s.Entry()
	require.Equal(t, "::1", entry.Name)
	entry.Slots = 2
	job.Hosts, job.Local, job.SSH.Config = append(job.Hosts, entry), "never", s.Config
	o := run(t, job)
	require.NoError(t, o.err, o.stderr)
	got := lines(o.stdout)
	slices.Sort(got)
	require.Equal(t, []string{"0 ::1 ::1 ::1", "1 ::1 ::1 ::1"}, got)
}
