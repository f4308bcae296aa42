package rankenv

import (
	"fmt"
	"net"
	"strconv"
	"strings"
)

// Environ returns, as "NAME=value", the variables by which programs of the
// given launchers know that their place is w, and no others: without a
// launcher there are none. [Parse] makes w of them again, as far as the
// launcher has words for it.
//
// The variables are meant to replace those of an outer launcher. One that has
// no replacement should be removed before, TORCHELASTIC_RUN_ID above all.
func (w World) Environ(as ...Launcher) []string {
	e := make(environ, 0, 16*len(as))
	for _, l := range as {
		switch l {
		case Gorun:
			e.addNumbers(gorunNames, w)
			e.add("GORUN_HOST", w.Host)
			e.add("GORUN_JOB", w.Job)
			e.addNumber("GORUN_ATTEMPT", w.Attempt)
			e.add("GORUN_GPUS", strings.Join(w.GPUs, ","))
			e.add("GORUN_ADDR", w.Addr)
			e.add("GORUN_MASTER", w.Master)
			e.add("GORUN_SOCKET", w.Socket)
		case Torch:
			e.addNumbers(torchNames, w)
			// All ranks have one role.
			e.addNumber("ROLE_RANK", w.Rank)
			e.addNumber("ROLE_WORLD_SIZE", w.Size)
			if host, port, err := net.SplitHostPort(w.Master); err == nil {
				e.add("MASTER_ADDR", host) // torch wants no brackets
				e.add("MASTER_PORT", port)
			}
			e.addNumber("TORCHELASTIC_RESTART_COUNT", w.Attempt)
			// Nobody but rank 0 serves torch's store. TORCHELASTIC_RUN_ID is
			// left out: it says that torchrun's own agent is there.
			e.add("TORCHELASTIC_USE_AGENT_STORE", "False")
		case OpenMPI:
			e.addNumbers(openMPINames, w)
			e.addNumber("OMPI_COMM_WORLD_NODE_RANK", w.LocalRank)
			e.addNumber("OMPI_UNIVERSE_SIZE", w.Size)
		case PMI:
			e.addNumbers(pmiNames, w)
			e.addNumber("PMI_LOCAL_RANK", w.LocalRank)
			e.addNumber("PMI_LOCAL_SIZE", w.LocalSize)
		case Slurm:
			e.addSlurm(w)
		case JAX:
			e.addNumbers(jaxNames, w)
			e.add("JAX_COORDINATOR_ADDRESS", w.Master)
		}
	}
	return e
}

// environ is a list of variables being written.
type environ []string

// add writes a variable, unless there is nothing to say.
func (e *environ) add(name, value string) {
	if value != "" {
		*e = append(*e, name+"="+value)
	}
}

func (e *environ) addNumber(name string, n int) {
	e.add(name, strconv.Itoa(n))
}

// addNumbers writes the numbers of w for which names has a name.
func (e *environ) addNumbers(names [fields]string, w World) {
	for f, n := range [fields]int{w.Rank, w.Size, w.LocalRank, w.LocalSize, w.Node, w.Nodes} {
		if names[f] != "" {
			e.addNumber(names[f], n)
		}
	}
}

// addSlurm writes the variables of a task in a step that is its whole job.
func (e *environ) addSlurm(w World) {
	names := slurmNames
	names[localSize] = ""
	e.addNumbers(names, w)
	e.addNumber("SLURM_NPROCS", w.Size)
	e.addNumber("SLURM_JOB_NUM_NODES", w.Nodes)
	// An allocation's SLURM_JOB_ID beside no step would mean a batch script.
	e.addNumber("SLURM_STEP_ID", 0)
	e.addNumber("SLURM_STEP_NUM_TASKS", w.Size)
	e.addNumber("SLURM_STEP_NUM_NODES", w.Nodes)
	if w.LocalSize*w.Nodes == w.Size {
		// Otherwise the list would need what w does not say of other hosts.
		perNode := strconv.Itoa(w.LocalSize)
		if w.Nodes > 1 {
			perNode = fmt.Sprintf("%d(x%d)", w.LocalSize, w.Nodes)
		}
		e.add("SLURM_TASKS_PER_NODE", perNode)
		e.add("SLURM_STEP_TASKS_PER_NODE", perNode)
	}
	e.add("SLURMD_NODENAME", w.Host)
}
