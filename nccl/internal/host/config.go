package host

import (
	"slices"
	"time"

	"github.com/gorun/gorun/nccl/internal/core"
)

// Config is how a communicator of the host engine behaves. All ranks have the same.
type Config struct {
	Deadline time.Duration // a call unfinished for so long ends the communicator with a *core.StallError; 0: none
	Check    bool          // compare every call with the other ranks' before it runs
	RankRing bool          // the ring is in the order of ranks, not grouped by host

	patience time.Duration // how long calls may drain after a loss; 0: drainTime

	hosts []string // by rank, as Join has learned; nil inside one process
}

// locate returns a failure that says on which hosts its ranks are. Failures are
// shared between ranks, so it is a copy.
func (c *Config) locate(failure error) error {
	switch e := failure.(type) {
	case *core.LostError:
		return &core.LostError{Ranks: e.Ranks, Hosts: c.hostsOf(e.Ranks)}
	case *core.StallError:
		return &core.StallError{Op: e.Op, Seq: e.Seq, Missing: e.Missing, Hosts: c.hostsOf(e.Missing)}
	}
	return failure
}

// hostsOf returns the hosts of ranks, each once.
func (c *Config) hostsOf(ranks []int) []string {
	var hosts []string
	for _, r := range ranks {
		if r < len(c.hosts) && !slices.Contains(hosts, c.hosts[r]) {
			hosts = append(hosts, c.hosts[r])
		}
	}
	return hosts
}
