package gossip

import (
	"context"
	"net/netip"

	"github.com/gorun/gorun/rendezvous"
	"github.com/gorun/gorun/rendezvous/internal/codec"
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

// Message returns an empty message from a node.
func Message(from int) []byte {
	c := codec.Writer(nil)
	(&message{from: from}).fields(c)
	b, _ := c.Written()
	return b
}

// Silence cuts a node off without a word.
func Silence(n *Node) { n.net.Shutdown() }

// Known returns what a member knows.
func Known(n *Node) *rendezvous.Memory { return n.known }
