package launcher

import (
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/rankenv"
)

// jaxPlace is what jax.distributed.initialize makes of an environment if it is
// called without arguments.
type jaxPlace struct {
	detected         string // the class of jax/_src/clusters
	coordinator      string
	count, id, local string
}

// hnpHost finds the host in the contact of Open MPI's mpirun, as ompi_cluster.py
// does.
var hnpHost = regexp.MustCompile(`tcp://(.+?)[,:]|tcp6://\[(.+?)[,\]]`)

// detectJAX repeats the rules of jax/_src/distributed.py and of the classes in
// jax/_src/clusters, as of JAX 0.4.30, in their order. prrte_cluster.py, which is
// newer, comes before Slurm's.
func detectJAX(t *testing.T, env map[string]string) (p jaxPlace) {
	t.Helper()
	switch {
	case env["OMPI_MCA_orte_hnp_uri"] != "":
		p = jaxPlace{"ompi", "", env["OMPI_COMM_WORLD_SIZE"], env["OMPI_COMM_WORLD_RANK"], env["OMPI_COMM_WORLD_LOCAL_RANK"]}
		uri := env["OMPI_MCA_orte_hnp_uri"]
		number, _, _ := strings.Cut(uri, ".")
		job, err := strconv.Atoi(number)
		require.NoError(t, err, uri)
		host := hnpHost.FindStringSubmatch(uri)
		require.NotNil(t, host, uri)
		p.coordinator = fmt.Sprintf("%s:%d", host[1]+host[2], job/4096%4096+65535-4096+1)
	case env["PRTE_LAUNCHED"] == "1":
		p.detected = "prrte"
	case env["SLURM_JOB_ID"] != "":
		p.detected = "slurm"
	}
	if addr := env["JAX_COORDINATOR_ADDRESS"]; addr != "" {
		p.coordinator = addr
	}
	return p
}

func TestJAXFindsItsPlace(t *testing.T) {
	// gorun inside of an allocation, whose number would lead JAX to Slurm's class.
	t.Setenv("SLURM_JOB_ID", "7")
	dir := t.TempDir()
	job, _ := hosts(t, []int{1, 2}, fmt.Sprintf(`cat /proc/self/environ > %s/$GORUN_RANK`, dir))
	require.NoError(t, run(t, job).err)
	ranks := blocks(t, dir, 3)
	for r, local := range []string{"0", "0", "1"} {
		got := detectJAX(t, ranks[r])
		require.Equal(t, jaxPlace{"ompi", ranks[0]["GORUN_MASTER"], "3", fmt.Sprint(r), local}, got)

		// The contact alone would do: it leads to rank 0's host too, and to a port
		// that is free there.
		delete(ranks[r], "JAX_COORDINATOR_ADDRESS")
		derived := detectJAX(t, ranks[r]).coordinator
		addr, err := netip.ParseAddrPort(derived)
		require.NoError(t, err)
		require.Equal(t, "127.0.0.2", addr.Addr().String())
		require.Equal(t, detectJAX(t, ranks[0]).coordinator, derived)
		l, err := net.Listen("tcp", derived)
		require.NoError(t, err)
		require.NoError(t, l.Close())
	}
}

func TestJAXIsDetectedOnlyWhereItsVariablesAreWanted(t *testing.T) {
	dir := t.TempDir()
	for as, want := range map[rankenv.Launcher]string{rankenv.Torch: "", rankenv.OpenMPI: "", rankenv.JAX: "ompi"} {
		t.Run(string(as), func(t *testing.T) {
			job := sh(1, fmt.Sprintf(`cat /proc/self/environ > %s/$GORUN_RANK`, dir))
			job.Env.Compat = []rankenv.Launcher{as}
			require.NoError(t, run(t, job).err)
			require.Equal(t, want, detectJAX(t, blocks(t, dir, 1)[0]).detected)
		})
	}
}
