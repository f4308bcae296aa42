package gossip_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/rendezvous"
	"github.com/gorun/gorun/rendezvous/gossip"
)

// BenchmarkJoin takes members on loopback, in one process, from nothing to a
// roster that is whole everywhere and a value that all have seen.
func BenchmarkJoin(b *testing.B) {
	for _, n := range []int{2, 4, 16, 64} {
		for _, relay := range []bool{false, true} {
			b.Run(fmt.Sprintf("%d/relay=%t", n, relay), func(b *testing.B) {
				hosts := roster(n, 8)
				for b.Loop() {
					c := start(b, hosts, func(_ int, conf *gossip.Config) {
						if !relay {
							conf.Relay = nil
						}
					})
					c.meet(b)
					c.open(hosts)
					require.NoError(b, c.jobs[0].Put(b.Context(), "id", []byte("secret")))
					c.eachRank(b, func(ctx context.Context, job *rendezvous.Job) error {
						_, err := job.Get(ctx, "id")
						return err
					})
					c.whole(b)
					b.StopTimer()
					c.close()
					b.StartTimer()
				}
			})
		}
	}
}

// BenchmarkBarrier is a barrier of all ranks of members that have joined.
func BenchmarkBarrier(b *testing.B) {
	for _, n := range []int{1, 2, 4, 16, 64} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			hosts := roster(n, 8)
			c := start(b, hosts, nil)
			c.meet(b)
			c.open(hosts)
			c.whole(b)
			i := 0
			for b.Loop() {
				i++
				c.eachRank(b, func(ctx context.Context, job *rendezvous.Job) error {
					return job.Barrier(ctx, fmt.Sprint(i))
				})
			}
		})
	}
}

// BenchmarkOneHost is what a job on one host pays.
func BenchmarkOneHost(b *testing.B) {
	hosts := roster(1, 8)
	for b.Loop() {
		node, err := gossip.Join(b.Context(), &gossip.Config{Roster: hosts})
		require.NoError(b, err)
		node.Close()
	}
}
