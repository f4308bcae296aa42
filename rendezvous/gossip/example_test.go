package gossip_test

import (
	"context"
	"fmt"
	"log"
	"net/netip"
	"os"

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

// A rank that srun, Kubernetes or a shell has started: its launcher told it who
// it is, and the environment where rank 0 listens and where the key is. Here the
// world is one rank.
func ExampleJoin_withoutALauncher() {
	ctx := context.Background()
	world, err := rankenv.Current()
	if err != nil {
		log.Fatal(err)
	}
	conf := &gossip.Config{World: world}
	if world.Size > 1 {
		conf.Seeds = []string{os.Getenv("SEED")}
		if conf.Key, err = gossip.ReadKey(os.Getenv("GORUN_KEY_FILE")); err != nil {
			log.Fatal(err)
		}
	}
	node, err := gossip.Join(ctx, conf)
	if err != nil {
		log.Fatal(err)
	}
	defer node.Close()
	job := rendezvous.New(node, world)
	if err := job.Barrier(ctx, "start"); err != nil {
		log.Fatal(err)
	}
	fmt.Println("rank", job.Rank(), "of", job.Size())
	// Output: rank 0 of 1
}
