package launcher

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOneMachineUnderSeveralNames(t *testing.T) {
	for name, c := range map[string]struct {
		hosts [2]string
		want  string // in the warning; "": none
	}{
		"two names":               {[2]string{"node1", "node1.example"}, "node1, node1.example are one machine, whose cores their ranks share unknown to each other; as one host: -H node1:3"},
		"an IPv6 address":         {[2]string{"2001:db8::7", "node1"}, "2001:db8::7, node1 are one machine, whose cores their ranks share unknown to each other; as one host: -H [2001:db8::7]:3"},
		"one name, two servers":   {[2]string{"node1", "NODE1"}, ""},
		"addresses for test":      {[2]string{"127.0.0.2", "127.0.0.3"}, ""},
		"one of them for testing": {[2]string{"node1", "127.0.0.3"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			job, servers := hosts(t, []int{1, 2}, `exit 0`)
			var config strings.Builder
			for i, alias := range c.hosts {
				job.Hosts[i].Name = alias
				fmt.Fprintf(&config, "Host %s\n  HostName %v\n  UserKnownHostsFile %s\n  GlobalKnownHostsFile none\n  IdentityAgent none\n",
					alias, servers[i].Addr.Addr(), servers[i].KnownHosts)
			}
			require.NoError(t, os.WriteFile(job.SSH.Config, []byte(config.String()), 0o600))
			o := run(t, job)
			require.NoError(t, o.err)
			if c.want == "" {
				require.Zero(t, countOf(o.events, Warning), "%v", o.events)
				return
			}
			require.Equal(t, 1, countOf(o.events, Warning), "%v", o.events)
			warned := slices.IndexFunc(o.events, func(e Event) bool { return e.Kind == Warning })
			require.Equal(t, c.want, o.events[warned].Message)

			job.Strict = true
			o = run(t, job)
			require.Equal(t, StatusUsage, o.Status)
			require.EqualError(t, o.err, c.want)
		})
	}
}
