package gossip

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"

	"github.com/gorun/gorun/rankenv"
	"github.com/gorun/gorun/rendezvous"
)

// Config describes a member.
type Config struct {
	World     rankenv.World     // Node, Job and Attempt are used: whom this member speaks for
	Roster    []rendezvous.Host // by node: the whole job, in the order of the ring, the same at every member; nil: World.Size members, each a rank by itself
	Bind      netip.AddrPort    // port 0: any; zero: the address that routes to the first seed, any port, at rank 0 without Roster the seed's
	Advertise netip.AddrPort    // where the others reach Bind; zero: as bound
	Seeds     []string          // host:port of other members, where [Node.Meet] is not going to be called
	Key       []byte            // the job's secret, 32 bytes: encrypts and authenticates everything
	Relay     Relay             // the way through the launcher; nil: none
	Log       *slog.Logger      // nil: silent

	unplanned bool // Roster was nil
}

// Relay carries messages to other members where gossip does not.
type Relay interface {
	// Send hands message, of at most [MaxMessage] bytes, on its way to the
	// member of a node, where [Node.Deliver] takes it. It is called from several
	// goroutines at a time, returns soon after ctx ends and does not keep
	// message. After an error the message is sent again.
	Send(ctx context.Context, node int, message []byte) error
}

// validate returns every mistake.
func (c *Config) validate() error {
	var errs []error
	add := func(format string, args ...any) { errs = append(errs, fmt.Errorf("gossip: "+format, args...)) }
	if len(c.Roster) == 0 || len(c.Roster) > maxNodes {
		add("Roster has %d hosts, want 1 to %d", len(c.Roster), maxNodes)
	}
	if c.World.Node < 0 || c.World.Node >= len(c.Roster) {
		add("World.Node is %d, want an index of Roster, which has %d hosts", c.World.Node, len(c.Roster))
	}
	names := map[string]bool{}
	for i, host := range c.Roster {
		if host.Name == "" || len(host.Name) > maxHostName || names[host.Name] {
			add("Roster[%d].Name is %.40q, want a name of its own of at most %d bytes", i, host.Name, maxHostName)
		}
		names[host.Name] = true
		if len(host.Ranks) == 0 {
			add("Roster[%d] has no ranks", i)
		}
	}
	if len(c.Roster) > 1 {
		if len(c.Key) != keySize {
			add("Key has %d bytes, want %d", len(c.Key), keySize)
		}
		if !c.Bind.Addr().IsValid() && len(c.Seeds) == 0 {
			add("Bind is not set, and there are no Seeds that tell which address reaches them")
		}
		if c.Bind.Addr().IsValid() && c.Bind.Addr().IsUnspecified() && !c.Advertise.Addr().IsValid() {
			add("Bind is %v, every address: Advertise must say which of them the others use", c.Bind)
		}
		if len(c.World.Job) > maxJobName {
			add("World.Job has %d bytes, at most %d are allowed", len(c.World.Job), maxJobName)
		}
		for _, seed := range c.Seeds {
			if _, err := portOf(seed); err != nil {
				add("seed %q: want host:port, the port a number", seed)
			}
		}
	}
	return errors.Join(errs...)
}

const (
	keySize     = 32 // AES-256
	maxNodes    = 1 << 16
	maxHostName = 253 // RFC 1035, section 2.3.4
	maxJobName  = 128
)

// name is a member's name within memberlist. It differs between attempts: a
// member that left keeps its name in the others' memory as dead. A slash would
// end it, see memberlist.Join.
func (c *Config) name(node int) string {
	return strings.ReplaceAll(fmt.Sprintf("%s:%d:%s", c.World.Job, c.World.Attempt, c.Roster[node].Name), "/", "_")
}
