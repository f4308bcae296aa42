//go:build linux

package endtoend

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/internal/testhost/cluster"
	"github.com/gorun/gorun/rendezvous"
)

// roles are what the test binary does as a rank.
var roles = map[string]func(context.Context) error{"meet": meet}

// meet passes values round and checks that everyone saw the same.
func meet(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	job, err := rendezvous.Open(ctx, nil)
	if err != nil {
		return err
	}
	defer job.Close()
	for round := range 5 {
		if err := job.Put(ctx, fmt.Sprintf("from/%d/%d", round, job.Rank()), fmt.Appendf(nil, "%d of %d", job.Rank(), round)); err != nil {
			return err
		}
		if err := job.Barrier(ctx, fmt.Sprintf("round/%d", round)); err != nil {
			return err
		}
		for r := range job.Size() {
			v, err := job.Get(ctx, fmt.Sprintf("from/%d/%d", round, r))
			if err != nil {
				return err
			}
			if want := fmt.Sprintf("%d of %d", r, round); string(v) != want {
				return fmt.Errorf("rank %d: expected %q, found %q", job.Rank(), want, v)
			}
		}
	}
	addrs, order, err := job.Ring(ctx, fmt.Sprintf("192.0.2.%d:1", job.Rank()))
	if err != nil {
		return err
	}
	for r, a := range addrs {
		if want := fmt.Sprintf("192.0.2.%d:1", r); a != want || order[r] != r {
			return fmt.Errorf("ring: expected %s, found %s at %d", want, a, order[r])
		}
	}
	fmt.Println("met")
	return nil
}

func TestValuesReachAllRanks(t *testing.T) {
	for name, disturb := range map[string]func(*cluster.Cluster) error{
		"by gossip": func(*cluster.Cluster) error { return nil },
		"through the launcher, where two hosts do not reach one another": func(c *cluster.Cluster) error {
			return c.Hosts[1].CutOutgoing(c.Hosts[2])
		},
		"through the launcher, where a host reaches no other": func(c *cluster.Cluster) error {
			return c.Hosts[1].CutOutgoing(c.Hosts[0], c.Hosts[2], c.Hosts[3])
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := stage(t, cluster.Config{Hosts: 4, Slots: 2})
			require.NoError(t, disturb(c))
			got := run(t, c, "--stage", "./role", "meet")
			require.Len(t, got, 8*len("met\n"), "%q", got)
		})
	}
}
