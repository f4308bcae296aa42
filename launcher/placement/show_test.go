package placement_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/launcher/placement"
)

// shown is a plan with all that can be shown: one host with GPUs and adapters, and
// one of which nothing is known.
func shown(t *testing.T) *placement.Plan {
	a := twoPackages.with(func(s *shape) { s.gpus, s.nics = []int{0, 1}, []int{0, 1} }).host("a")
	plan, err := placement.Place(3, []placement.Host{a, slots("b", 1)}, placement.Policy{})
	require.NoError(t, err)
	return plan
}

func TestTableShowsWhatRanksGet(t *testing.T) {
	var got strings.Builder
	require.NoError(t, shown(t).Table(&got))
	require.Equal(t, `
3 ranks on 2 hosts
RANK  NODE  LOCAL  CPUS       GPUS  NICS    HOST
0     0     0      0-3,8-11   0     mlx5_0  a
1     0     1      4-7,12-15  1     mlx5_1  a
2     1     0      -          -     -       b
`[1:], got.String())
}

func TestJSON(t *testing.T) {
	var got strings.Builder
	require.NoError(t, shown(t).JSON(&got))
	require.Equal(t, 1, strings.Count(got.String(), "\n"), "one line")
	var plan any
	require.NoError(t, json.Unmarshal([]byte(got.String()), &plan))
	require.JSONEq(t, `{"size": 3, "hosts": ["a", "b"], "ranks": [
		{"rank": 0, "node": 0, "local_rank": 0, "program": 0, "host": "a", "cpus": "0-3,8-11", "gpus": ["GPU-a0"], "nics": ["mlx5_0"]},
		{"rank": 1, "node": 0, "local_rank": 1, "program": 0, "host": "a", "cpus": "4-7,12-15", "gpus": ["GPU-a1"], "nics": ["mlx5_1"]},
		{"rank": 2, "node": 1, "local_rank": 0, "program": 0, "host": "b"}
	]}`, got.String())
	require.ErrorIs(t, shown(t).JSON(&full{10}), errFull)
}

func TestBindingsAreReported(t *testing.T) {
	require.Equal(t, []string{
		"rank 0 on a: CPUs 0-3,8-11, GPU 0, NIC mlx5_0",
		"rank 1 on a: CPUs 4-7,12-15, GPU 1, NIC mlx5_1",
		"rank 2 on b: CPUs not known (not bound)",
	}, shown(t).Bindings())
	plan, err := placement.Place(3, []placement.Host{laptop.host("a")}, placement.Policy{})
	require.NoError(t, err)
	require.Equal(t, "rank 2 on a: CPUs 0-1 (not bound)", plan.Bindings()[2])
}
