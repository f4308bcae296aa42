package gossip_test

import (
	"context"
	"fmt"
	"log"
	"net/netip"

	"github.com/gorun/gorun/rankenv"
	"github.com/gorun/gorun/rendezvous"
	"github.com/gorun/gorun/rendezvous/gossip"
)

// Two agents, here in one process, and a rank on each.
func ExampleJoin() {
	ctx := context.Background()
	roster := []rendezvous.Host{{Name: "a", Ranks: []int{0}}, {Name: "b", Ranks: []int{1}}}
	key := []byte("32 bytes that the launcher drew.")
	var nodes []*gossip.Node
	var addrs []netip.AddrPort
	for i := range roster {
		node, err := gossip.Join(ctx, &gossip.Config{
			World:  rankenv.World{Node: i, Job: "example"},
			Roster: roster,
			Bind:   netip.MustParseAddrPort("127.0.0.1:0"),
			Key:    key,
		})
		if err != nil {
			log.Fatal(err)
		}
		defer node.Close()
		nodes, addrs = append(nodes, node), append(addrs, node.Addr())
	}
	for _, node := range nodes { // the launcher knows the addresses now
		if err := node.Meet(addrs...); err != nil {
			log.Fatal(err)
		}
	}
	zero := rendezvous.New(nodes[0], rankenv.World{Rank: 0, Size: 2})
	one := rendezvous.New(nodes[1], rankenv.World{Rank: 1, Size: 2})
	if err := zero.Put(ctx, "greeting", []byte("hello")); err != nil {
		log.Fatal(err)
	}
	greeting, err := one.Get(ctx, "greeting")
	fmt.Printf("%s %v\n", greeting, err)
	// Output: hello <nil>
}
