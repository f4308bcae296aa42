package launcher

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/gorun/gorun/internal/envvar"
	"github.com/gorun/gorun/rankenv"
)

// contract is the names of the variables that gorun sets for each rank by
// itself. What the launcher inherited of them is some outer launcher's.
type contract map[string]bool

// Patterns and names beside those of rankenv's sets.
var (
	// identityNames tell a process its place in the job of another launcher.
	identityNames = []string{
		"PMI_RANK", "PMI_SIZE", "PMI_FD", "PMI_PORT", "PMI_ID", "PMI_LOCAL_*",
		"PMI_JOBID", "PMI_SPAWNED", "PMI_HOSTNAME", "HYDI_CONTROL_FD",
		"PMIX_RANK", "PMIX_NAMESPACE", "PMIX_SERVER_URI*",
		"OMPI_COMM_WORLD_*", "OMPI_MCA_orte_hnp_uri", "PRTE_LAUNCHED",
		"FLUX_JOB_ID", "FLUX_JOB_SIZE", "FLUX_JOB_NNODES", "FLUX_TASK_*", "FLUX_PMI_LIBRARY_PATH",
		"TORCHELASTIC_*", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", "MV2_COMM_WORLD_*",
		"SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID", "SLURM_NTASKS", "SLURM_NPROCS",
		"SLURM_STEP*", "SLURM_GTIDS", "SLURM_TASK_PID", "SLURM_SRUN_COMM_*",
	}
	// libraryNames are the settings of gorun's libraries, ordinary variables
	// for which the rule about GORUN_ names makes an exception.
	libraryNames = []string{"GORUN_ENGINE", "GORUN_PROTO", "GORUN_ALGO", "GORUN_DEBUG"}
)

// allCompat are the launchers whose variables ranks can get, beside gorun's.
var allCompat = []rankenv.Launcher{rankenv.Torch, rankenv.OpenMPI, rankenv.PMI, rankenv.JAX, rankenv.Slurm}

// usualCompat are those of Job.Env.Compat's nil. Programs of Slurm's look for its
// allocation, so that must be asked for.
var usualCompat = []rankenv.Launcher{rankenv.Torch, rankenv.OpenMPI, rankenv.PMI, rankenv.JAX}

// compat returns whose variables ranks get, gorun's first.
func (e *Env) compat() ([]rankenv.Launcher, error) {
	asked := e.Compat
	if asked == nil {
		asked = usualCompat
	}
	as := []rankenv.Launcher{rankenv.Gorun}
	for _, l := range asked {
		switch {
		case !slices.Contains(allCompat, l):
			return nil, fmt.Errorf("--env-compat: expected %s, found %q", joinWords(allCompat), l)
		case slices.Contains(as, l):
			continue
		case l == rankenv.JAX && !slices.Contains(asked, rankenv.OpenMPI):
			as = append(as, rankenv.OpenMPI) // by which jax.distributed finds its place
		}
		as = append(as, l)
	}
	return as, nil
}

func joinWords(launchers []rankenv.Launcher) string {
	var words []string
	for _, l := range launchers {
		words = append(words, string(l))
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// newContract returns the names that ranks get from the given launchers' sets
// and those that they never inherit. Slurm's count only where they are set:
// outside of a step they describe the user's allocation.
func newContract(as []rankenv.Launcher) contract {
	w := rankenv.World{
		Size: 1, LocalSize: 1, Nodes: 1, Host: "h", Job: "j", GPUs: []string{"0"},
		Addr: "127.0.0.1", Master: "127.0.0.1:1", Socket: "s",
	}
	sets := append(slices.Clone(usualCompat), as...)
	names := contract{}
	for _, entry := range w.Environ(sets...) {
		names[envvar.Name(entry)] = true
	}
	return names
}

func (c contract) has(name string) bool {
	if strings.HasPrefix(name, "GORUN_") {
		return !slices.Contains(libraryNames, name)
	}
	return c[name] || envvar.MatchesAny(name, identityNames)
}

// hnpURI returns the contact of Open MPI's mpirun, "" without a port. JAX takes
// a process that has one for Open MPI's, and makes the coordinator's address of
// it: the URI's own, with port 61440 plus the job's number divided by 4096. Open
// MPI itself does not ask who is there.
func hnpURI(addr netip.Addr, port int) string {
	if port == 0 {
		return ""
	}
	job := (port - 61440) << 12
	if addr.Is6() {
		return fmt.Sprintf("%d.0;tcp6://[%v]:%d", job, addr, port)
	}
	return fmt.Sprintf("%d.0;tcp://%v:%d", job, addr, port)
}
