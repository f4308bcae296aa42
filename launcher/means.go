package launcher

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gorun/gorun/hostfiles"
	"github.com/gorun/gorun/hostfiles/allocation"
	"github.com/gorun/gorun/launcher/remote"
)

// means is how the agents of a job are started, and where.
type means struct {
	job      *Job
	batch    scheduled
	slurm    *remote.Slurm    // nil: none is started by srun
	entries  []hostfiles.Host // that the job named, or its scheduler did
	warnings []string
}

// newMeans finds out what there is to start agents by. What it returns is never
// nil.
func newMeans(job *Job) (*means, error) {
	m := &means{job: job, entries: job.Hosts}
	var broken, outside string
	var err error
	if m.batch, broken, err = schedule(job); err != nil {
		return m, err
	}
	m.entries, outside = m.batch.entries(job.Hosts)
	for _, w := range []string{broken, outside} {
		if w != "" {
			m.warnings = append(m.warnings, w)
		}
	}
	a := m.batch.allocation
	if a == nil || a.Scheduler != allocation.Slurm {
		return m, nil
	}
	auto := job.Launcher == "" || job.Launcher == "auto"
	if job.Launcher != "slurm" && !(auto && job.SSH.Rsh == "") {
		return m, nil
	}
	if m.slurm, err = remote.NewSlurm(a.Job); err == nil || job.Launcher == "slurm" {
		return m, err
	}
	// As in a container, which has the job's environment but not its programs.
	if slices.ContainsFunc(m.entries, func(h hostfiles.Host) bool { return m.isNode(h) && !m.isLocal(h) }) {
		m.warnings = append(m.warnings, fmt.Sprintf("the nodes of %v are reached by SSH: %v", a, err))
	}
	return m, nil
}

// isLocal says whether the agent of an entry is started as a child of ours. In
// a job step we have but the step's share of the node, and srun gives the agent
// what the job has.
func (m *means) isLocal(h hostfiles.Host) bool {
	return m.job.Local != "never" && remote.IsLocal(h) && !(m.bySlurm(h) && m.batch.allocation.InStep)
}

// bySlurm says whether the agent of an entry that is not local is started by
// srun.
func (m *means) bySlurm(h hostfiles.Host) bool { return m.slurm != nil && m.isNode(h) }

// isNode says whether an entry is a host of the allocation, with nothing about
// logging in there.
func (m *means) isNode(h hostfiles.Host) bool {
	_, ok := m.batch.hosts[strings.ToLower(h.Name)]
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
		if m.slurm == nil {
			return []error{errors.New("--launcher slurm: expected to be inside an allocation of Slurm, found none: SLURM_JOB_ID and SLURM_JOB_NODELIST tell of it, unless --allocation is none")}
		}
		if m.job.SSH.Rsh != "" {
			problems = append(problems, errors.New("--launcher slurm: expected no --rsh beside it, since nobody logs in"))
		}
		for _, h := range entries {
			if !m.isLocal(h) && !m.bySlurm(h) {
				problems = append(problems, fmt.Errorf("--launcher slurm: expected a node of %v and nothing about a login, found %v", m.batch.allocation, h))
			}
		}
	default:
		problems = append(problems, fmt.Errorf("--launcher: expected auto, ssh, slurm or local, found %q", m.job.Launcher))
	}
	return problems
}
