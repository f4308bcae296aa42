package main

import "strings"

// What other launchers' flags mean that gorun has no flag for. A script that
// names them shall run where nothing is lost by it, and else be told what to
// type instead.

// foreign are flags of other launchers, "prefix DIR, noprefix", and what to say
// of them.
type foreign struct{ flags, why string }

// forms adds the flags to a grammar.
func (f foreign) forms(meaning func([]string) ([]string, error)) (forms []form) {
	for usage := range strings.SplitSeq(f.flags, ", ") {
		name, args, _ := strings.Cut(usage, " ")
		forms = append(forms, form{[]string{name}, args, meaning})
	}
	return forms
}

// noted is what a flag means that has no effect: a note, which says why.
func noted(why string) func([]string) ([]string, error) {
	return func([]string) ([]string, error) { return []string{note + why}, nil }
}

// note marks what a flag of other launchers means if that is no flag of ours,
// but something to say.
const note = "note: "

// A foreignError refuses a flag that only other launchers have.
type foreignError struct{ why string }

func (e *foreignError) Error() string { return e.why }

func refused(why string) func([]string) ([]string, error) {
	return func([]string) ([]string, error) { return nil, &foreignError{why} }
}

// unneeded have no effect, and are noted.
var unneeded = []foreign{
	{"allow-run-as-root", "gorun runs as any user"},
	{"prefix DIR, app-prefix DIR, noprefix, launch-agent CMD, enable-instant-on-support", "gorun brings its agent to the hosts"},
	{"personality LIST", "ranks get every launcher's variables, see --env-compat"},
	{"do-not-resolve, use-regexp, fwd-mpirun-port, leave-session-attached, no-aggregate-help", "gorun's agents have no need of it"},
	{"max-vm-size N, novm", "agents run where ranks do"},
	{"tmpdir DIR", "a job's folder is in memory; for the ranks' own: -x TMPDIR=DIR"},
	{"report-child-jobs-separately", "the status is that of the rank that failed first"},
	{"report-state-on-timeout", "the end of a job says where it stood"},
	{"use-hwthread-cpus", "a CPU is a hardware thread here"},
	{"forward-signals LIST", "INT, TERM, HUP, QUIT, USR1, USR2 and WINCH always reach the ranks"},
	// Hydra and Intel
	{"topolib NAME, demux NAME", "there is one"},
	{"disable-x, x11 [HOW]", "nothing is forwarded for X"},
	{"disable-hostname-propagation", "ranks ask their host for its name"},
	{"pmi-port, pmi-connect MODE, pmi-aggregate, pmi-noaggregate", "agents need no way back to the launcher"},
	{"exitinfo", "the end of a job says which ranks failed; every rank's status: --print-all-exitcodes"},
	{"silent-abort", "only the first failure is told"},
	{"ordered-output", "lines are whole always"},
	{"branch-count N", "every host is reached from here"},
	// torchrun, DeepSpeed, Horovod
	{"standalone, node-rank N, rdzv-backend NAME, rdzv-endpoint ADDR, rdzv-id ID, rdzv-conf CONF, master-addr ADDR", "gorun makes the ranks meet; MASTER_ADDR and MASTER_PORT are set"},
	{"monitor-interval D, start-method NAME, no-python, no-local-rank", "the program is started as it is"},
	{"gloo, disable-cache, force-multi", "there is one way to launch"},
	{"save-pid", "the process is the shell's: gorun … & echo $!"},
	{"role NAME", "it names ranks in torchrun's own messages"},
	{"local-addr ADDR", "hosts reach each other where SSH does, or as --iface says"},
	{"log-level LEVEL", "gorun says what happens with -v, and nothing but errors with -q"},
	{"comment TEXT, I [SECONDS], immediate [SECONDS]", "it is for Slurm's queue"},
}

// elsewhere are refused, and the words say what there is instead.
var elsewhere = []foreign{
	{"xterm RANKS, enable-x", "gorun opens no windows; every rank's output in a file: --output-dir DIR"},
	{"xml, xml-file F, report-events URI", "what happens is told as JSON: --events F"},
	{"parseable, parsable", "for programs to read: --json"},
	{"debug, debugger CMDS, tv, gdb, gdba RANKS, gtool CMD, gtoolfile F, valgrind", "to run ranks under a tool: --wrap 'gdb -batch -ex run --args' --wrap-ranks 0"},
	{"stop-on-exec, stop-in-init RANKS, stop-in-app", "to stop a rank for a debugger: --wrap 'gdbserver :2345' --wrap-ranks 0"},
	{"trace, trace-pt2pt, trace-collectives, check_mpi, ilp64, aps, mps", "it is of Intel's MPI; its libraries go before others with -x LD_PRELOAD=LIB"},
	{"ib, rdma, RDMA, dapl, psm, psm2, mx, tmi, ofi", "the fabric is the library's to choose: -x I_MPI_FABRICS=NAME or -x NCCL_NET=NAME"},
	{"set-cwd-to-session-dir", "for a folder of its own: --wdir DIR --wdir-create"},
	{"index-argv-by-rank", "arguments differ by rank with --template and {rank}"},
	{"cf F, cartofile F, display-topo", "gorun looks at the hardware by itself; where ranks go: --dry-run"},
	{"cpu-set LIST, cpu-list LIST, bind-core-list LIST", "CPUs are chosen with --bind-to and --cpus-per-rank, within those that gorun itself may use (taskset -c LIST gorun …)"},
	{"membind POLICY, mem-bind POLICY", "memory is the kernel's to place; to bind it: --wrap 'numactl --membind=N'"},
	{"npersocket N, ntasks-per-socket N", "ranks are counted by host, -ppn N, and spread over its sockets with --map-by package"},
	{"tune F, am F, amca F", "parameters are named one by one: --mca NAME VALUE"},
	{"dvm, hnp URI, ompi-server URI, nameserver ADDR, dvm-uri URI, report-uri F, terminate", "there is no daemon to speak to; each gorun runs one job"},
	{"report-pid F", `the process is the shell's: gorun … & echo $!`},
	{"output-proctable", "every rank's process is told by -v and --events F"},
	{"pset NAME", "there are no process sets; several programs: gorun -np 1 ./a : -np 2 ./b"},
	{"runtime-options LIST, rtos LIST", "each has a flag of its own here: gorun help"},
	{"with-ft TYPE", "to go on after a rank has failed: --on-failure continue"},
	{"add-host LIST, add-hostfile F", "the hosts of a job do not change while it runs; hosts in reserve: --spares N"},
	{"soft LIST, arch NAME, file F, memory-alloc-kinds LIST", "it is of the MPI standard, and no launcher acts on it"},
	{"stream-buffering N", "output comes in whole lines; as it is written: --raw; what the program holds back: --wrap 'stdbuf -oL'"},
	// Hydra and Intel
	{"order-nodes ORDER", "hosts are taken in the order in which they are given"},
	{"localhost NAME", "how others reach a host is said in the hostfile: addr=IP, or with --iface"},
	{"ckpoint, ckpoint-interval N, ckpoint-prefix DIR, ckpoint-num N, ckpointlib NAME, restart", "programs save what they need themselves, in time for --signal USR1@5m"},
	{"ranks-per-proc N", "a process is one rank here: -np N"},
	{"usize N", "the world is all ranks: -np N"},
	{"hosts-group NAME", "ranges are written: -H node[01-16]"},
	{"bootstrap-exec-args WORDS", "the whole command, {host} for the host: --rsh 'ssh -q {host}'"},
	// srun
	{"t TIME, time TIME", "srun counts minutes; a time limit here is seconds or like 10m: --timeout 10m"},
	{"A NAME, account NAME, partition NAME, qos NAME, cpu-freq FREQ, constraint LIST, C LIST, gres LIST, mem SIZE, mem-per-cpu SIZE, exclusive [HOW], array LIST, reservation NAME, job-name NAME, begin TIME, dependency LIST, licenses LIST, gpus N, G N, gpus-per-node N", "resources are Slurm's to give: salloc or sbatch, and gorun inside"},
	{"jobid ID, overlap, het-group N, relative N", "gorun takes the allocation that it is started in"},
	{"prolog F, epilog F, task-prolog F, task-epilog F", "around each rank: --wrap ./script; around the job: ./before; gorun …; ./after"},
	{"multi-prog", "a program a line with its flags: --app F"},
	{"gpu-bind NAME, ntasks-per-core N, ntasks-per-gpu N", "where ranks go is said with -N, --map-by, --bind-to and --gpus-per-rank"},
	{"hint TYPE, threads-per-core N, cores-per-socket N, sockets-per-node N", "a rank has all hardware threads of its cores, and OMP_NUM_THREADS counts them: -x OMP_NUM_THREADS=N, or --bind-to hwthread"},
	{"o F, e F, error F, oo F, eo F", "each rank's output in a file of its own: --output-dir DIR; all of it in one: gorun … >F"},
	{"input F", "gorun's standard input is rank 0's: gorun … <F; for all: --stdin all"},
	{"no-kill [off], k, wait D, W D", "what a failure ends is said with --on-failure and --grace"},
	{"nice [N]", "--wrap 'nice -n N'"},
	{"propagate [LIMITS]", "one by one: --rlimit NAME=N"},
	// torchrun, DeepSpeed, Horovod
	{"run-path", "the program is named first: gorun … python3 FILE"},
	{"redirects HOW, r HOW, tee HOW", "each rank's output in a file of its own: --output-dir DIR"},
	{"local-ranks-filter LIST", "ranks of the whole job: --show-ranks LIST"},
	{"numa-binding NAME", "CPUs beside a rank's GPU are the default: --bind-to gpu; a NUMA node: --bind-to numa"},
	{"logs-specs NAME, duplicate-stdout-filters LIST", "each rank's output in a file of its own: --output-dir DIR; that of some on the terminal: --show-ranks LIST"},
	{"include LIST", "hosts are named, GPUs left out: -H a,b --exclude a:0,1"},
	{"autotuning HOW", "settings are tried by jobs one after the other, which a script of yours starts"},
	{"launcher-args WORDS", "each has a flag of its own here: gorun help; of ssh: --rsh 'ssh -q {host}'"},
	{"venv-script F", "ranks start with this shell's variables: . F, and gorun then"},
	{"mpi-args WORDS", "mpirun's flags are understood where they stand: gorun --map-by node …"},
	{"fusion-threshold-mb N", "it is of Horovod's library: -x HOROVOD_FUSION_THRESHOLD=BYTES"},
	{"timeline-filename F", "it is of Horovod's library: -x HOROVOD_TIMELINE=F"},
	{"elastic-training, min-elastic-nodes N, max-elastic-nodes N, min-np N, max-np N, slots-per-host N, host-discovery-script F, blacklist-cooldown-range A", "the size of a job does not change while it runs; hosts in reserve: --spares N --restarts N"},
}
