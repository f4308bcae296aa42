package rankenv

import (
	"net"
	"net/netip"
	"slices"
	"strings"
)

// The numbers' variables of each launcher, in the order of the fields. Both
// reading and writing go by them.
var (
	gorunNames = [fields]string{"GORUN_RANK", "GORUN_SIZE", "GORUN_LOCAL_RANK", "GORUN_LOCAL_SIZE", "GORUN_NODE", "GORUN_NODES"}
	// torchrun calls a host with its workers a group (torch/distributed/elastic/agent).
	torchNames = [fields]string{"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK", "GROUP_WORLD_SIZE"}
	// Open MPI does not number the hosts: its NODE_RANK is a rank within the host.
	openMPINames = [fields]string{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"}
	pmiNames     = [fields]string{"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"}
	slurmNames   = [fields]string{"SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_TASKS_PER_NODE", "SLURM_NODEID", "SLURM_NNODES"}
	jaxNames     = [fields]string{"JAX_PROCESS_ID", "JAX_NUM_PROCESSES"}
)

func gorun(env variables) (claim, []error) {
	c, errs := env.claim(Gorun, gorunNames)
	if !c.told(rank) {
		return c, errs
	}
	w := &c.world
	w.Host, w.Job, w.Socket = env["GORUN_HOST"], env["GORUN_JOB"], env["GORUN_SOCKET"]
	var err error
	if w.Attempt, err = env.count("GORUN_ATTEMPT"); err != nil {
		errs = append(errs, err)
	}
	if w.Master, err = env.hostPort("GORUN_MASTER"); err != nil {
		errs = append(errs, err)
	}
	if w.Addr = env["GORUN_ADDR"]; w.Addr != "" {
		if _, err := netip.ParseAddr(w.Addr); err != nil {
			errs = append(errs, &VarError{"GORUN_ADDR", w.Addr, "an IP address"})
		}
	}
	if list := env["GORUN_GPUS"]; list != "" {
		w.GPUs = strings.Split(list, ",")
		if slices.ContainsFunc(w.GPUs, func(gpu string) bool { return gpu == "" || strings.ContainsAny(gpu, " \t") }) {
			errs = append(errs, &VarError{"GORUN_GPUS", list, "UUIDs or indexes of GPUs between commas"})
		}
	}
	return c, errs
}

func torch(env variables) (claim, []error) {
	c, errs := env.claim(Torch, torchNames)
	if !c.told(rank) {
		return c, errs
	}
	w := &c.world
	w.Job = env["TORCHELASTIC_RUN_ID"]
	var err error
	if w.Attempt, err = env.count("TORCHELASTIC_RESTART_COUNT"); err != nil {
		errs = append(errs, err)
	}
	host, port := env["MASTER_ADDR"], env["MASTER_PORT"]
	if err := env.missing("MASTER_ADDR", "MASTER_PORT"); err != nil {
		return c, append(errs, err)
	}
	if host == "" {
		return c, errs
	}
	if !isHost(host) {
		errs = append(errs, &VarError{"MASTER_ADDR", host, "a name or an address without brackets"})
	}
	if !isPort(port) {
		errs = append(errs, &VarError{"MASTER_PORT", port, "a number from 1 to 65535"})
	}
	w.Master = net.JoinHostPort(host, port)
	return c, errs
}

func openMPI(env variables) (claim, []error) { return env.claim(OpenMPI, openMPINames) }

func pmi(env variables) (claim, []error) { return env.claim(PMI, pmiNames) }

func jax(env variables) (claim, []error) {
	c, errs := env.claim(JAX, jaxNames)
	if !c.told(rank) {
		return c, errs
	}
	var err error
	if c.world.Master, err = env.hostPort("JAX_COORDINATOR_ADDRESS"); err != nil {
		errs = append(errs, err)
	}
	return c, errs
}
