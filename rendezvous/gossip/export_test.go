package gossip

import (
	"context"
	"net/netip"
)

// For tests that bring their own network.
type Network = network

func JoinOver(ctx context.Context, conf *Config, listen func(netip.AddrPort) (Network, error)) (*Node, error) {
	return join(ctx, conf, listen)
}

var (
	Parent     = parent
	Neighbours = neighbours
)

// Silence cuts a node off without a word.
func Silence(n *Node) { n.net.Shutdown() }
