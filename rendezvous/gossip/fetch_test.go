package gossip_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/rendezvous"
	"github.com/gorun/gorun/rendezvous/gossip"
)

func TestOffersAreFetched(t *testing.T) {
	pair := func(a, b int) func(from, to int) bool {
		return func(from, to int) bool { return from == a && to == b || from == b && to == a }
	}
	for _, tc := range []struct {
		name        string
		blocked     func(from, to int) bool
		relay, meet bool
	}{
		{"directly", func(int, int) bool { return false }, false, true},
		{"before members know each other", func(int, int) bool { return false }, true, false},
		{"through the launcher", pair(1, 2), true, true},
		{"along the tree", pair(1, 2), false, true},
		{"where answers are blocked", func(from, to int) bool { return from == 2 && to == 1 }, false, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				hosts := roster(3, 2)
				c := startBlocked(t, hosts, tc.blocked, func(conf *gossip.Config) {
					if !tc.relay {
						conf.Relay = nil
					}
				})
				c.open(hosts)
				if tc.meet {
					c.meet(t)
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				// By then each way has been tried, and the direct one once more.
				time.AfterFunc(20*time.Second, func() { c.jobs[5].Offer(ctx, "late", []byte("late")) })
				require.NoError(t, c.jobs[5].Offer(ctx, "early", []byte("early")))
				for _, key := range []string{"early", "late"} {
					v, err := c.jobs[2].Fetch(ctx, 5, key)
					require.NoError(t, err)
					require.Equal(t, key, string(v))
				}
				v, err := c.jobs[4].Fetch(ctx, 5, "late") // of the same host
				require.NoError(t, err)
				require.Equal(t, "late", string(v))
			})
		})
	}
}

// What is offered costs the hosts nothing that do not ask for it.
func TestOffersStayAtHome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hosts := roster(3, 1)
		c := startBlocked(t, hosts, func(int, int) bool { return false }, func(*gossip.Config) {})
		c.open(hosts)
		require.NoError(t, c.jobs[2].Offer(t.Context(), "k", make([]byte, 1000)))
		_, err := c.jobs[1].Fetch(t.Context(), 2, "k")
		require.NoError(t, err)
		time.Sleep(time.Minute)
		_, ok := gossip.Known(c.nodes[0]).Offered(0, 2, "k")
		require.False(t, ok)
	})
}

// However many ranks meet at a barrier, they are told of in a few bytes.
func TestBarrierIsToldByHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hosts := roster(20, 50)
		c := startBlocked(t, hosts, func(int, int) bool { return false }, func(*gossip.Config) {})
		c.open(hosts)
		c.meet(t)
		time.Sleep(time.Second)
		before := c.star.bytes.Load() // before direct ways are known to work, all goes this way too
		for i := range 3 {
			c.eachRank(t, func(ctx context.Context, job *rendezvous.Job) error { return job.Barrier(ctx, fmt.Sprint(i)) })
		}
		require.Less(t, c.star.bytes.Load()-before, int64(3*2*20*200), "two short messages a host")
	})
}
