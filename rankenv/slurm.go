package rankenv

import (
	"fmt"
	"strings"
)

// slurm reads the variables that srun gives a task (srun(1), "Output
// Environment Variables"). Those of the step are preferred to those of the
// allocation, which may be larger.
func slurm(env variables) (claim, []error) {
	if env["SLURM_PROCID"] == "" {
		return claim{}, nil // no task, though perhaps inside an allocation
	}
	if env["SLURM_JOB_ID"] != "" && env["SLURM_STEP_ID"] == "" {
		// A batch script has the numbers of its job's first task, but is none:
		// to wait for the other tasks would be to wait for ever.
		return claim{}, nil
	}
	names := slurmNames
	names[size] = env.first("SLURM_STEP_NUM_TASKS", "SLURM_NTASKS")
	names[nodes] = env.first("SLURM_STEP_NUM_NODES", "SLURM_NNODES")
	names[localRank], names[localSize] = "", "" // the latter is no number
	c, errs := env.claim(Slurm, names)
	if !c.told(rank) {
		return c, errs
	}
	if err := c.slurmLocal(env); err != nil {
		errs = append(errs, err)
	}
	w := &c.world
	w.Host, w.Job = env["SLURMD_NODENAME"], env["SLURM_JOB_ID"]
	if w.Job != "" {
		w.Job += "." + env["SLURM_STEP_ID"]
	}
	var err error
	if w.Attempt, err = env.count("SLURM_RESTART_COUNT"); err != nil {
		errs = append(errs, err)
	}
	return c, errs
}

// first returns the first of names that is set, or the last.
func (env variables) first(names ...string) string {
	for _, name := range names {
		if env[name] != "" {
			return name
		}
	}
	return names[len(names)-1]
}

// slurmLocal reads the place among the tasks of the host.
func (c *claim) slurmLocal(env variables) error {
	id := env["SLURM_LOCALID"]
	if id == "" {
		return nil
	}
	place, ok := decimal(id, c.values[size]-1)
	if !ok {
		return &VarError{"SLURM_LOCALID", id, fmt.Sprintf("a number from 0 to %d, below %s", c.values[size]-1, c.names[size])}
	}
	// Without the list the tasks are spread evenly, as Slurm does unless told
	// otherwise; that there is a place says something, too.
	hosts := max(1, c.values[nodes])
	total := max((c.values[size]+hosts-1)/hosts, place+1)
	name := env.first("SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE")
	if list := env[name]; list != "" {
		total, ok = tasksOn(list, c.values[node])
		if !ok || total <= place || total > c.values[size] {
			want := fmt.Sprintf("tasks of each host, as 2(x3),1, with %d to %d for host %d", place+1, c.values[size], c.values[node])
			return &VarError{name, list, want}
		}
	}
	c.names[localRank], c.values[localRank] = "SLURM_LOCALID", place
	c.names[localSize], c.values[localSize] = name, total
	return nil
}

// tasksOn returns the tasks on one host from a list such as "2(x3),1", which
// means 2, 2, 2 and 1.
func tasksOn(list string, host int) (tasks int, ok bool) {
	const limit = 1 << 30 // so that the sum of repeats cannot overflow
	for item := range strings.SplitSeq(list, ",") {
		number, repeats, repeated := strings.Cut(item, "(x")
		times := 1
		if repeated {
			if repeats, ok = strings.CutSuffix(repeats, ")"); !ok {
				return 0, false
			}
			if times, ok = decimal(repeats, limit); !ok {
				return 0, false
			}
		}
		if tasks, ok = decimal(number, limit); !ok {
			return 0, false
		}
		if host < times {
			return tasks, true
		}
		host -= times
	}
	return 0, false
}
