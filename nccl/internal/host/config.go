package host

import (
	"slices"
	"time"
)

// Config is how a communicator of the host engine behaves. It must be equal on all ranks but for Hosts, which the engine fills.
type Config struct {
	Deadline time.Duration // a call unfinished for so long ends the communicator with a *core.StallError; 0: none
	Check    bool          // compare every call with the other ranks' before it runs
	RankRing bool          // the ring is in the order of ranks, not grouped by host

	hosts []string // by rank; nil inside one process
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
