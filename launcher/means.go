package launcher

import (
	"errors"
	"fmt"

	"github.com/gorun/gorun/hostfiles"
	"github.com/gorun/gorun/hostfiles/allocation"
	"github.com/gorun/gorun/launcher/remote"
)

// means is how the agents of a job are started on its hosts.
type means struct {
	job   *Job
	batch scheduled
}

// isLocal says whether the agent of an entry is started as a child of ours. In
// a job step we have but the step's share of the node, and srun gives the agent
// what the job has.
func (m *means) isLocal(h hostfiles.Host) bool {
	return m.job.Local != "never" && remote.IsLocal(h) && !(m.bySlurm(h) && m.batch.allocation.InStep)
}

// bySlurm says whether the agent of an entry that is not local is started by
// srun: it is a node of the job's, and nothing is said of logging in there.
func (m *means) bySlurm(h hostfiles.Host) bool {
	a := m.batch.allocation
	switch {
	case a == nil || a.Scheduler != allocation.Slurm:
		return false
	case m.job.Launcher == "ssh", m.job.Launcher == "local", m.job.Launcher != "slurm" && m.job.SSH.Rsh != "":
		return false
	}
	_, ok := m.batch.hosts[h.Name]
	return ok && h.User == "" && h.Port == 0 && h.Key == "" && h.Jump == ""
}

// check refuses a launcher that there is not, and hosts that it does not
// reach.
func (m *means) check(entries []hostfiles.Host) (problems []error) {
	switch m.job.Launcher {
	case "", "auto", "ssh":
	case "local":
		for _, h := range entries {
			if !m.isLocal(h) {
				problems = append(problems, fmt.Errorf("--launcher local starts ranks on this host only, and %s is another "+
					"(or --local never, a port=, user=, key= or jump= says to log in)", h.Name))
			}
		}
	case "slurm":
		a := m.batch.allocation
		if a == nil || a.Scheduler != allocation.Slurm {
			return []error{errors.New("--launcher slurm: expected to be inside an allocation of Slurm, found none: SLURM_JOB_ID and SLURM_JOB_NODELIST tell of it, unless --allocation is none")}
		}
		for _, h := range entries {
			if !m.isLocal(h) && !m.bySlurm(h) {
				problems = append(problems, fmt.Errorf("--launcher slurm: expected a node of %v and nothing about a login, found %v", a, h))
			}
		}
	default:
		problems = append(problems, fmt.Errorf("--launcher: expected auto, ssh, slurm or local, found %q", m.job.Launcher))
	}
	return problems
}
