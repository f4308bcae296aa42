package main

// topics are what stands behind a flag that has a language of its own, by the
// flag's first name; "gorun help FLAG" and the manual show them. Lines that begin
// with "gorun " are commands.
var topics = map[string]string{
	"H":        hostTopic,
	"hostfile": hostfileTopic,
	"exclude": `a, b[01-04]    these hosts, of whatever user and port
c:0, d:2-3     these GPUs of a host, by their indexes; the rest is used
gorun -hostfile hosts --exclude node7,node8:0 ./train`,
	"app": `One program a line, with its flags, as it would stand between two colons:
    -np 1 ./server --port 80
    -np 7 -x ROLE=worker ./worker 'two words'   # a comment
Words are parted and quoted as in a shell, and nothing is replaced: $HOME is
five characters. A backslash at the end of a line continues it. Flags of the
whole job stand on the command line.
gorun -l --app programs`,
	"map-by": `slot       fill a host before the next (the default)
node       deal ranks out to the hosts in turn
numa       fill a host before the next, and deal its ranks out to its NUMA
           nodes in turn; package (or socket) and l3 the same to those
core       as slot, and bind each rank to a core; hwthread, to a thread of one
gpu        fill a host before the next, up to its GPUs
seq        a rank for each time that a host was written, in that order
ppr:N:node N ranks on each host
rankfile:F the host and the cores of each rank, see gorun help rankfile
Behind it, or alone: :PE=N cores for each rank, :OVERSUBSCRIBE, :NOOVERSUBSCRIBE.
gorun -hostfile hosts --map-by numa:PE=4 ./train`,
	"rankfile": `A line for each rank, with comments as in a hostfile:
    rank 0=node1 slot=0-3         cores 0 to 3 of the host
    rank 1=node1 slot=1:0,2;0:*   cores 0 and 2 of its package 1, all of package 0
    rank 2=+n1                    the second host of the list, not bound
Cores are counted from 0, among those that the host allows. A host is named as in
the list of hosts, or by the first label of that.
gorun -hostfile hosts --map-by rankfile:ranks ./train`,
	"bind-to": `none       let the kernel choose
share      an equal share of the host's cores, if there is one for each rank
gpu        a share of the cores on the NUMA nodes of the rank's GPUs
core       one core, or --cpus-per-rank of them; hwthread, a hardware thread
l3         all cores that share the cache in which the rank's share begins; numa
           and package (or socket), all of that
Only CPUs that the host allows count. core:N is core with --cpus-per-rank N.
core and hwthread need one for each rank: more ranks are refused. Cores, caches
and packages are as the kernel tells them in /sys; where it does not, as in some
virtual machines, each CPU is a core, so that hwthread is the same as core, and
the host is one package.
gorun --bind-to core --report-bindings ./train`,
	"cpus-per-rank": `As :PE=N behind a mapping. With --bind-to hwthread they are hardware threads.`,
	"x": `NAME           the launcher's value, also where --export would not pass it
NAME=VALUE     this value
'NCCL_*'       all that match, quoted against the shell: * ? [a-z]
Of several programs each has its own; --set-env is for all. What tells a rank its
place cannot be set.
gorun -x NCCL_DEBUG=INFO -x 'UCX_*' ./train`,
	"env-file": `One variable a line:
    # a comment
    NCCL_DEBUG=INFO            # behind a value, a comment has a blank before it
    export DATA=/scratch/data  # the shell's word makes no difference
    JSON='{"lr": 0.1}'         # as it is
    MOTD="first\nsecond"       # \n \r \t \" \\ \$ \` + "`" + ` are escapes
Nothing is replaced: $HOME is five characters. -x comes after.
gorun --env-file job.env ./train`,
	"env-compat": `torch      RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT …
ompi       OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE …
pmi        PMI_RANK, PMI_SIZE, PMI_FD or PMI_PORT, by which programs of MPICH meet …
jax        JAX_PROCESS_ID, JAX_NUM_PROCESSES, JAX_COORDINATOR_ADDRESS
slurm      SLURM_PROCID, SLURM_NTASKS, SLURM_LOCALID …
Whichever are chosen, ranks have GORUN_RANK, GORUN_SIZE and their like; and, unless
the user sets or unsets them, PYTHONUNBUFFERED=1, so that Python's output comes as
it is printed, and OMP_NUM_THREADS, the CPUs that the rank is bound to, or its part
of the host's.
gorun --env-compat torch,slurm ./train`,
	"rlimit": `memlock    bytes that may be locked in memory, which RDMA needs
nofile     open files
core       bytes of a core dump
stack      bytes of a stack
N is a whole number of bytes or files without a unit, or unlimited.
gorun --rlimit memlock=unlimited --rlimit core=0 ./train`,
	"wrap": `Words are parted and quoted as in a shell. None runs it: $ and the like need
single quotation marks and a shell, sh -c '…', or a script of its own.
gorun --wrap 'gdb -batch -ex run --args' --wrap-ranks 0 ./train`,
	"template": `{rank}        the rank's number in the job
{local_rank}  its number on its host
{host}        the host's name, as --display-map has it
{world_size}  the number of ranks
{job}         the job's id
{{            one brace; } stands for itself
gorun --template -x LOG=run.{rank}.log ./train --seed {rank}`,
	"stage": `The program is kept on each host under the hash of its content, in the cache
folder of gorun (~/.cache/gorun, or where that cannot be written /var/tmp, /tmp
or /dev/shm), so that the next job finds it there. It runs from a folder of the
job, which goes with the job. gorun clean --cache removes what was not used for
four weeks.
gorun -hostfile hosts --stage --stage-file config.json ./train`,
	"tag": `{host}        the host's name, as --display-map has it
{rank}        the rank's number in the job
{local_rank}  its number on its host
{node}        the number of its host, from 0
{time}        when the line was read on its host, as 2026-03-01T09:30:00.125Z
{{            one brace; } stands for itself
gorun --tag '{time} {host}:{rank}| ' ./train`,
	"pty": `One rank, named by its number. Its terminal has the size of the user's, and Ctrl-C
and its like go to the rank.
gorun --pty 0 -np 2 python3 -i train.py`,
	"timeout": timeTopic + `
0 is no limit; the variable MPIEXEC_TIMEOUT, in seconds, is the default.
gorun --timeout 8h --signal USR1@10m ./train`,
	"signal": `SIG is a name, as USR1, SIGUSR1, term, or a number; D is a time, less than that of
--timeout, which must stand beside it.
` + timeTopic + `
gorun --timeout 8h --signal USR1@10m ./train`,
	"grace":         timeTopic + "\n0 is KILL at once.\ngorun --grace 2m ./train",
	"start-timeout": timeTopic + "\n0 is no limit. Time in which gorun itself is copied to a host does not count.\ngorun --start-timeout 5m -hostfile hosts ./train",
	"init-timeout":  timeTopic + "\n0 is no limit.\ngorun --init-timeout 5m ./train",
	"node-timeout":  timeTopic + "\n0 is no limit: a host that is cut off, and does not close its connection, is waited for.\ngorun --node-timeout 60 -hostfile hosts ./train",
	"iface": `NAME       an interface, as eth0 or ib0
CIDR       a network, as 10.7.0.0/16: on each host the interface with an address in it
It carries gossip between agents, what ranks send each other, and MASTER_ADDR.
A hostfile's iface= and addr= say it for one host. Without, it is the address at
which SSH reached the host.
gorun -hostfile hosts --iface 10.7.0.0/16 ./train`,
	"ports": `A-B are the ports, both included, on which the job listens on each host: gossip
between agents (TCP and UDP), what ranks send each other (TCP), and MASTER_PORT on
rank 0's host. Without, any port that is free. A firewall between the hosts has to
let these through; from the launcher to the hosts, SSH's port alone. Each rank needs
a port or more, and each agent one. Nothing connects to the launcher.
gorun -hostfile hosts --ports 40000-40255 ./train`,
	"events": `A JSON object a line, in the order in which things happen: time, kind, attempt,
rank, host, message; of rank-exited also exit. A pipe must have a reader before
gorun starts, and one that does not read for a while gets no more.
gorun --events run.jsonl ./train`,
	"report-file": `One JSON object: job, status, origin, error, elapsed, restarts, first, ranks. A
refused command writes one too, with status 2, so that an old one is not taken
for its own.
gorun --report-file end.json ./train`,
}

const timeTopic = `A time is a number of seconds, as 90 or 0.5, or has units: 90s, 1m30s, 2h, 500ms.`

const hostTopic = `Hosts between commas: [user@]host[:slots], n[01-16,20] for several, an IPv6
address with slots in brackets, [::1]:2. Case makes no difference. A host that is
named again has its slots added. The port of an SSH server is -p or a hostfile's.
Beside -hostfile the list chooses among the file's hosts, which keep what the file
says of them, but for slots that the list gives. GORUN_HOSTFILE is not read beside it.
gorun -H node[01-04]:8,lee@node9:2 ./train`

const hostfileTopic = `One host, or one range of hosts, a line; # and // begin comments:
    node1 slots=8                       Open MPI's way
    node2:8                             Hydra's
    lee@gpu[01-16,20] slots=8 gpus=0-3  ranges, and fields in any order
    2001:db8::7 port=2222 key=/home/lee/id jump=gateway
slots=N max_slots=N user= port= key= jump= are of the login; addr=ADDRESS, at which
others reach it; iface=NAME or CIDR; gpus=0-3,7 or ^2,3. A host that is named again,
in whatever case, has its slots added.
gorun -hostfile hosts ./train`
