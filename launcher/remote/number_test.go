package remote

import (
	"context"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"github.com/gorun/gorun/internal/testhost/sshserver"
)

var loopback6 = netip.IPv6Loopback()

// echoAgent is a host that has the program already: it answers the boot script
// as such a host does, and becomes an agent that says "up" and echoes.
func echoAgent(_ string, channel ssh.Channel) (status int) {
	var script strings.Builder
	for b := make([]byte, 1); !strings.HasSuffix(script.String(), "\n"); {
		if _, err := io.ReadFull(channel, b); err != nil {
			return 1
		}
		script.Write(b)
	}
	_, marker, _ := strings.Cut(script.String(), "m=")
	marker, _, _ = strings.Cut(marker, " ")
	fmt.Fprintf(channel.Stderr(), "%s start\n", marker)
	fmt.Fprintf(channel, "%s start\nup", marker)
	io.Copy(channel, channel)
	return 0
}

// Every host is reached from here, not from another host: there is no tree
// whose arithmetic could be wrong for some number of them, and nobody but the
// launcher needs a key. The numbers are those around powers of two and those at
// which trees of others have failed.
func TestEveryNumberOfHosts(t *testing.T) {
	s := sshserver.Start(t, sshserver.Config{Exec: echoAgent})
	d := dialerFor(t, s.Host, SSH{})
	p := newFakeAgent(t)
	logins := 0
	for _, hosts := range []int{1, 2, 3, 31, 32, 33, 64, 65, 72, 130} {
		streams := make([]Stream, hosts)
		var wg sync.WaitGroup
		for i := range streams {
			wg.Go(func() {
				c, err := d.Dial(t.Context(), s.Entry())
				if err != nil {
					t.Error(err)
					return
				}
				if streams[i], err = c.StartAgent(t.Context(), p, Start{}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		logins += hosts
		require.Equal(t, logins, s.Logins())
		for i, stream := range streams { // all at once
			require.NotNil(t, stream)
			fmt.Fprintf(stream, "%d", i)
			require.NoError(t, stream.CloseWrite())
		}
		for i, stream := range streams {
			said, err := io.ReadAll(stream)
			require.NoError(t, err)
			require.Equal(t, fmt.Sprintf("up%d", i), string(said))
			require.NoError(t, stream.Wait())
			require.NoError(t, stream.Close())
		}
	}
}

// Hosts that take their time hold up nobody else, although only so many logins
// may go on at once.
func TestSlowHostsDelayNobody(t *testing.T) {
	quick := sshserver.Start(t, sshserver.Config{})
	slow := sshserver.Start(t, sshserver.Config{Addr: netip.MustParseAddr("127.0.0.2"), Faults: sshserver.Faults{Silent: true}})
	d := dialerFor(t, quick.Host, SSH{})
	ctx, giveUp := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range maxLogins - 1 {
		wg.Go(func() {
			if _, err := d.Dial(ctx, slow.Entry()); err == nil {
				t.Error("a silent server let somebody in")
			}
		})
	}
	require.Eventually(t, func() bool { return slow.Connections() == maxLogins-1 }, waitFor, poll)
	for range 32 { // entries with one address
		c, err := d.Dial(t.Context(), quick.Entry())
		require.NoError(t, err)
		require.NoError(t, c.Close())
	}
	giveUp()
	wg.Wait()
}
