package launcher

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheTableOfEndsHasALineForAllThatEndedAlike(t *testing.T) {
	r := &Result{}
	for rank := range 8 {
		e := RankExit{Rank: rank, Host: "node1"}
		if rank >= 4 {
			e.Host = "node2"
		}
		switch rank {
		case 1, 5, 6:
			e.Code, e.Signal, e.Stopped = -1, "SIGTERM", true
		case 2, 3:
			e.Code = 3
		case 7:
			e.Code = -1
		}
		r.Ranks = append(r.Ranks, e)
	}
	r.First = &r.Ranks[3]
	var b strings.Builder
	require.NoError(t, r.Table(&b))
	require.Equal(t, `RANKS    HOST     END
0, 4     2 hosts  exited with status 0
1, 5, 6  2 hosts  was killed by SIGTERM, stopped by gorun
2        node1    exited with status 3
3        node1    exited with status 3, the first failure
7        node2    was lost with its host
`, b.String())
}
