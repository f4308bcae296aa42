package gossip_test

import (
	"context"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/rendezvous"
	"github.com/gorun/gorun/rendezvous/gossip"
)

// Many hosts have a value and pass a barrier before their cluster is whole:
// values need no cluster, only addresses. A thousand take time to make, and so
// are for the soak tier.
func TestManyHostsMeet(t *testing.T) {
	n := 200
	if os.Getenv("GORUN_TEST_SOAK") == "1" {
		n = 1000
	}
	synctest.Test(t, func(t *testing.T) {
		hosts := roster(n, 1)
		m := &memnet{blocked: func(int, int) bool { return false }, dialing: 5 * time.Millisecond, ports: map[int]*memport{}}
		c := startOver(t, hosts, m, func(conf *gossip.Config) { conf.Relay = nil })
		c.open(hosts)
		began := time.Now()
		c.meet(t)
		require.NoError(t, c.jobs[n-1].Put(t.Context(), "id", []byte("secret")))
		c.eachRank(t, func(ctx context.Context, job *rendezvous.Job) error {
			if _, err := job.Get(ctx, "id"); err != nil {
				return err
			}
			return job.Barrier(ctx, "all")
		})
		require.Less(t, time.Since(began), time.Second)
	})
}
