package gossip

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"strconv"
	"time"

	"github.com/gorun/gorun/rendezvous"
)

// Where no launcher has made a plan, in Kubernetes or Slurm or by hand, every
// rank is a member by itself, and rank numbers are all that they know of each
// other: so that is the plan.

// planned returns the configuration with a roster, if it has none.
func (c *Config) planned() *Config {
	if c.Roster != nil || c.World.Size < 1 || c.World.Size > maxNodes {
		return c
	}
	with := *c
	with.unplanned = true
	with.World.Node = c.World.Rank
	with.Roster = make([]rendezvous.Host, c.World.Size)
	for rank := range with.Roster {
		with.Roster[rank] = rendezvous.Host{Name: fmt.Sprint("member ", rank), Ranks: []int{rank}}
	}
	return &with
}

const (
	minKey = 16
	maxKey = 4 << 10
	// seedRetry is how often a seed's name is looked up that nobody knows yet: a
	// name service learns of the first member when that runs.
	seedRetry = 200 * time.Millisecond
)

// ReadKey returns the key that the bytes of a file stand for, at least 16 that
// nobody can guess. Files are how a secret gets to the members: arguments and
// environments are read by others.
func ReadKey(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("gossip: key: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxKey+1))
	if err != nil {
		return nil, fmt.Errorf("gossip: key: %w", err)
	}
	if len(b) < minKey || len(b) > maxKey {
		return nil, fmt.Errorf("gossip: key %s has %d bytes, want %d to %d (head -c 32 /dev/urandom > %s)", path, len(b), minKey, maxKey, path)
	}
	sum := sha256.Sum256(b)
	return sum[:], nil
}

// bind returns the address to bind. If nothing says so, it is the one that
// routes to the first seed, and that seed's own port at rank 0 of a job without
// plan.
func (c *Config) bind(ctx context.Context, log *slog.Logger) (netip.AddrPort, error) {
	if c.Bind.Addr().IsValid() {
		return c.Bind, nil
	}
	bind, err := routeTo(ctx, c.Seeds[0], log)
	if err != nil || !c.unplanned || c.World.Rank != 0 {
		return bind, err
	}
	port, err := portOf(c.Seeds[0])
	return netip.AddrPortFrom(bind.Addr(), port), err
}

// portOf returns the port of a seed, which memberlist takes as a number only.
func portOf(seed string) (uint16, error) {
	_, port, err := net.SplitHostPort(seed)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(port, 10, 16)
	return uint16(n), err
}

// routeTo returns the address from which this host reaches a seed, with port 0,
// as soon as the seed's name is known.
func routeTo(ctx context.Context, seed string, log *slog.Logger) (netip.AddrPort, error) {
	for first := true; ; first = false {
		// Connecting a UDP socket sends nothing; it asks the routing table.
		var d net.Dialer
		conn, err := d.DialContext(ctx, "udp", seed)
		if err == nil {
			defer conn.Close()
			addr := conn.LocalAddr().(*net.UDPAddr).AddrPort().Addr()
			return netip.AddrPortFrom(addr.Unmap(), 0), nil
		}
		_, unknown := errors.AsType[*net.DNSError](err)
		if unknown && first {
			log.Warn("name of the seed is not known yet", "seed", seed, "error", err)
		}
		if !unknown || !await(ctx, nil, time.After(seedRetry)) {
			return netip.AddrPort{}, fmt.Errorf("gossip: no address reaches seed %s: %w", seed, err)
		}
	}
}
