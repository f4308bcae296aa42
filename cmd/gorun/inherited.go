package main

import (
	"fmt"
	"os"
)

// Of the variables with which other launchers are set up, gorun reads the one
// that all of them know, MPIEXEC_TIMEOUT. Where they keep a list of hosts, a job
// on this host alone would be a surprise, so it is noted.

// hostVariables name the host lists of Hydra, Intel's and Open MPI's mpirun.
var hostVariables = []string{
	"HYDRA_HOST_FILE", "I_MPI_HYDRA_HOST_FILE",
	"OMPI_MCA_orte_default_hostfile", "PRTE_MCA_prte_default_hostfile",
}

// noteHostVariables notes a host list that is not read, for a job without one.
func (c *command) noteHostVariables() {
	for _, name := range hostVariables {
		if file := os.Getenv(name); file != "" {
			c.notes = append(c.notes, fmt.Sprintf("%s is not read: gorun -hostfile %s …, or GORUN_HOSTFILE", name, quoted(file)))
		}
	}
}

// timeoutVariable is mpiexec's time limit, in seconds.
const timeoutVariable = "MPIEXEC_TIMEOUT"

// readTimeout takes the job's time limit from timeoutVariable, unless --timeout
// gives one.
func (c *command) readTimeout() error {
	value := os.Getenv(timeoutVariable)
	if value == "" || c.job.Limits.Run != 0 {
		return nil
	}
	if err := limit(&c.job.Limits.Run, "90")(value); err != nil {
		return refusal(fmt.Sprintf("%s: %v, found %q", timeoutVariable, err, value), "unset "+timeoutVariable)
	}
	c.limitedBy = timeoutVariable
	return nil
}
