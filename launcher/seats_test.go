package launcher

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/launcher/placement"
	"github.com/gorun/gorun/nccl/topo"
)

// What the plan says of a rank's CPUs is what its process has, on every host, and
// all names of its local rank say the same.
func TestRanksAreBoundAsPlanned(t *testing.T) {
	job, _ := hosts(t, []int{2, 1}, `echo $GORUN_RANK $GORUN_LOCAL_RANK $LOCAL_RANK $OMPI_COMM_WORLD_LOCAL_RANK $MV2_COMM_WORLD_LOCAL_RANK $MPI_LOCALRANKID $(sed -n 's/^Cpus_allowed_list:\t//p' /proc/self/status)`)
	job.Placement.BindTo = placement.ToShare
	job.Placement.GPUsPerRank = placement.NoGPUs
	o := run(t, job)
	require.NoError(t, o.err)
	var want []string
	for _, e := range o.events {
		if e.Kind == Placed {
			for rank := range e.Plan.Size {
				s := e.Plan.Seat(rank)
				cpus := s.CPUs
				if cpus == nil { // a machine with one core
					cpus = e.Plan.Hosts[s.Node].CPUs
				}
				want = append(want, fmt.Sprint(rank, strings.Repeat(fmt.Sprint(" ", s.LocalRank), 5), " ", topo.FormatList(cpus)))
			}
		}
	}
	require.ElementsMatch(t, want, lines(o.stdout))
}
