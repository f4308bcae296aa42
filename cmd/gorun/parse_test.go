package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/launcher"
	"github.com/gorun/gorun/launcher/placement"
)

// words splits a command line of a test, in which no word has a space.
func words(line string) []string { return strings.Fields(line) }

func TestParseFlags(t *testing.T) {
	tests := []struct {
		name  string
		line  string
		check func(t *testing.T, c *command)
	}{
		{"two dashes", "--np 4 ./x", func(t *testing.T, c *command) { require.Equal(t, 4, c.job.Apps[0].Ranks) }},
		{"one dash", "-np 4 ./x", func(t *testing.T, c *command) { require.Equal(t, 4, c.job.Apps[0].Ranks) }},
		{"short", "-n 4 ./x", func(t *testing.T, c *command) { require.Equal(t, 4, c.job.Apps[0].Ranks) }},
		{"equal sign", "--np=4 ./x", func(t *testing.T, c *command) { require.Equal(t, 4, c.job.Apps[0].Ranks) }},
		{"spellings of one flag", "-ppn 2 --npernode 4 -N=8 ./x", func(t *testing.T, c *command) { require.Equal(t, 8, c.job.Placement.PerHost) }},
		{"leading zero is decimal", "-np 010 ./x", func(t *testing.T, c *command) { require.Equal(t, 10, c.job.Apps[0].Ranks) }},
		{"last one counts", "-np 2 -n 8 ./x", func(t *testing.T, c *command) { require.Equal(t, 8, c.job.Apps[0].Ranks) }},
		{"no size", "./x", func(t *testing.T, c *command) { require.Zero(t, c.job.Apps[0].Ranks) }},
		{"ranks per host", "--nproc-per-node 8 ./x", func(t *testing.T, c *command) { require.Equal(t, 8, c.job.Placement.PerHost) }},
		{"one per host", "-pernode ./x", func(t *testing.T, c *command) { require.Equal(t, 1, c.job.Placement.PerHost) }},
		{"hostfile", "-machinefile h ./x", func(t *testing.T, c *command) { require.Equal(t, "h", c.hostfile) }},
		{"hostfile from stdin", "-f - ./x", func(t *testing.T, c *command) { require.Equal(t, "-", c.hostfile) }},
		{"host lists add up", "-H a:2 -hosts b,c ./x", func(t *testing.T, c *command) { require.Equal(t, []string{"a:2", "b,c"}, c.hostList) }},
		{"case counts", "-H h ./x", func(t *testing.T, c *command) { require.False(t, c.help) }},
		{"switch", "-l ./x", func(t *testing.T, c *command) { require.Equal(t, "{host}:{rank}| ", c.job.Streams.Tag) }},
		{"x passes", "-x A -x NCCL_* ./x", func(t *testing.T, c *command) { require.Equal(t, []string{"A", "NCCL_*"}, c.job.Env.Pass) }},
		{"x sets", "-x A=1,2=3 ./x", func(t *testing.T, c *command) { require.Equal(t, []string{"A=1,2=3"}, c.job.Env.Set) }},
		{"x joined", "-x=A=1 ./x", func(t *testing.T, c *command) { require.Equal(t, []string{"A=1"}, c.job.Env.Set) }},
		{"genv", "-genv A 1 -env B -2 ./x", func(t *testing.T, c *command) { require.Equal(t, []string{"A=1", "B=-2"}, c.job.Env.Set) }},
		{"genv in one word", "-genv A=1 -env B=x=y ./x", func(t *testing.T, c *command) { require.Equal(t, []string{"A=1", "B=x=y"}, c.job.Env.Set) }},
		{"hosts of a file", "-H a -hostfile h ./x", func(t *testing.T, c *command) { require.Equal(t, "h", c.hostfile) }},
		{"a program's own variable counts", "-x A=1 --set-env A=2 ./x", func(t *testing.T, c *command) { require.Equal(t, []string{"A=2", "A=1"}, c.job.Env.Set) }},
		{"genvlist", "-genvlist A,B ./x", func(t *testing.T, c *command) {
			require.Equal(t, "listed", c.job.Env.Export)
			require.Equal(t, []string{"A", "B"}, c.job.Env.Pass)
		}},
		{"genvnone", "-genvnone ./x", func(t *testing.T, c *command) { require.Equal(t, "none", c.job.Env.Export) }},
		{"export", "--export listed ./x", func(t *testing.T, c *command) { require.Equal(t, "listed", c.job.Env.Export) }},
		{"seconds", "--timeout 90 ./x", func(t *testing.T, c *command) { require.Equal(t, 90*time.Second, c.job.Limits.Run) }},
		{"part of a second", "--grace 0.5 ./x", func(t *testing.T, c *command) { require.Equal(t, 500*time.Millisecond, c.job.Limits.Grace) }},
		{"Go's form", "--start-timeout 1m30s ./x", func(t *testing.T, c *command) { require.Equal(t, 90*time.Second, c.job.Limits.Start) }},
		{"no limit", "--node-timeout 0 ./x", func(t *testing.T, c *command) { require.Negative(t, c.job.Limits.Node) }},
		{"mapping", "--map-by node ./x", func(t *testing.T, c *command) { require.Equal(t, "node", c.job.Placement.MapBy) }},
		{"mapping with modifiers", "--map-by numa:pe=2:oversubscribe ./x", func(t *testing.T, c *command) {
			require.Equal(t, placement.Policy{MapBy: "numa", CPUsPerRank: 2, Oversubscribe: true}, c.job.Placement)
		}},
		{"modifiers alone", "--map-by node --map-by :PE=2 ./x", func(t *testing.T, c *command) {
			require.Equal(t, placement.Policy{MapBy: "node", CPUsPerRank: 2}, c.job.Placement)
		}},
		{"rankfile", "--map-by rankfile:FILE=ranks:OVERSUBSCRIBE ./x", func(t *testing.T, c *command) {
			require.Equal(t, "ranks", c.rankfile)
			require.True(t, c.job.Placement.Oversubscribe)
		}},
		{"a rank for each GPU", "-N gpu --gpus-per-rank 2 ./x", func(t *testing.T, c *command) {
			require.Equal(t, placement.Policy{PerHost: placement.OnePerGPU, GPUsPerRank: 2}, c.job.Placement)
		}},
		{"no GPUs", "--gpus-per-rank 2 --gpus-per-rank 0 ./x", func(t *testing.T, c *command) {
			require.Equal(t, placement.NoGPUs, c.job.Placement.GPUsPerRank)
		}},
		{"other names of bindings", "--bind-to socket ./x", func(t *testing.T, c *command) { require.Equal(t, "package", c.job.Placement.BindTo) }},
		{"ssh", "-p 2222 -i k -F none --accept-new-host-keys ./x", func(t *testing.T, c *command) {
			require.Equal(t, 2222, c.job.SSH.Port)
			require.Equal(t, "k", c.job.SSH.Key)
			require.Equal(t, "none", c.job.SSH.Config)
			require.True(t, c.job.SSH.AcceptNewHostKeys)
		}},
		{"local", "--local never ./x", func(t *testing.T, c *command) { require.Equal(t, "never", c.job.Local) }},
		{"stage", "--stage --stage-file a --stage-file b ./x", func(t *testing.T, c *command) {
			require.True(t, c.job.Stage)
			require.Equal(t, []string{"a", "b"}, c.job.Files)
		}},
		{"quiet then verbose", "-q -v ./x", func(t *testing.T, c *command) {
			require.True(t, c.verbose)
			require.False(t, c.quiet)
		}},
		{"no effect, a note", "--allow-run-as-root --prefix /opt ./x", func(t *testing.T, c *command) { require.Len(t, c.notes, 2) }},
		{"no effect for one reason, one note", "--rdzv_id 1 --rdzv_backend c10d ./x", func(t *testing.T, c *command) {
			require.Equal(t, []string{"--rdzv_id, --rdzv_backend have no effect: gorun makes the ranks meet; MASTER_ADDR and MASTER_PORT are set"}, c.notes)
		}},
		{"contradictions, a note each", "-np 2 -n 4 -q -v --map-by node --map-by slot:PE=2 --oversubscribe --nooversubscribe ./x", func(t *testing.T, c *command) {
			require.Equal(t, []string{
				"of -np 2 and -n 4 the last one counts", "of -q and -v the last one counts",
				"of --map-by node and --map-by slot:PE=2 the last one counts", "of --oversubscribe and --nooversubscribe the last one counts",
			}, c.notes)
		}},
		{"the same again, no note", "-np 2 -n 2 --map-by node --map-by :PE=2 -x A=1 -x B=2 ./x", func(t *testing.T, c *command) { require.Empty(t, c.notes) }},
		{"help needs no program", "-np 2 --help", func(t *testing.T, c *command) { require.True(t, c.help) }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c, err := parse(words(test.line))
			require.NoError(t, err)
			test.check(t, c)
		})
	}
}

func TestParseLeavesTheProgramAlone(t *testing.T) {
	tests := []struct {
		name    string
		argv    []string
		program []string
	}{
		{"flags behind it", words("-np 2 ./x -np 3 --help -- -q"), words("./x -np 3 --help -- -q")},
		{"dashes end flags", words("-np 2 -- ./x --"), words("./x --")},
		{"named like a flag", words("-- -np 2"), words("-np 2")},
		{"named like a verb", words("-np 2 help"), words("help")},
		{"named like a verb, behind dashes", words("-np 2 -- doctor -j"), words("doctor -j")},
		{"named like a flag of ours", words("-np 2 np"), words("np")},
		{"empty and odd words", []string{"./x", "", " ", "a\nb"}, []string{"./x", "", " ", "a\nb"}},
		{"a lone dash", words("- x"), words("- x")},
		{"separator behind dashes", words("-- ./x : y"), words("./x : y")},
		{"separator in a word", words("./x a:b ::"), words("./x a:b ::")},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c, err := parse(test.argv)
			require.NoError(t, err)
			require.Equal(t, test.program, c.job.Apps[0].Args)
		})
	}
}

func TestParseRefuses(t *testing.T) {
	tests := []struct {
		name, line string
		msg, hint  string // parts of the error and of some hint
	}{
		{"not a number", "-np four ./x", `-np: expected a whole number of ranks, 1 to 1048576, found "four"`, "gorun -np 4 ./x"},
		{"zero ranks", "-n 0 ./x", `-n: expected`, "gorun -n 4 ./x"},
		{"negative", "-np -1 ./x", `found "-1"`, "gorun -np 4 ./x"},
		{"hexadecimal", "-np 0x10 ./x", `found "0x10"`, "gorun -np 4 ./x"},
		{"plus", "-np +4 ./x", `found "+4"`, "gorun -np 4 ./x"},
		{"too many", "-np 99999999 ./x", "1 to 1048576", ""},
		{"far too many", "-np 99999999999999999999 ./x", "1 to 1048576", ""},
		{"joined", "-np=x ./x", `-np: expected`, "gorun -np=4 ./x"},
		{"joined, nothing behind", "-np=", `-np: expected a whole number of ranks, 1 to 1048576, found ""`, "gorun -np=4"},
		{"second word of several", "-genvlist A,,B ./x", `-genvlist: expected the name of a variable, NAME=VALUE or a pattern, found "A,,B"`, "gorun -genvlist NCCL_DEBUG=INFO ./x"},
		{"not the first of its kind", "-np 4 -H a -n x ./x", `-n: expected a whole number`, "gorun -np 4 -H a -n 4 ./x"},
		{"value left out", "-np ./x", `found "./x"`, "gorun -np 4 ./x"},
		{"value left out before a flag", "-np -H a ./x", `found "-H"`, "gorun -np 4 -H a ./x"},
		{"nothing behind", "-np", "-np: expected N behind it, found the end of the command", "gorun help"},
		{"one of two words behind", "-genv A", "expected NAME [VALUE] behind it", "gorun help"},
		{"two words joined", "-genv=A 1 ./x", "expected 2 words behind it", "-genv NAME VALUE"},
		{"value of a switch", "-l=often ./x", `-l: expected no value, found "often"`, "gorun -l ./x"},
		{"glued value", "-np4 ./x", "unknown flag -np4", "gorun -np 4 ./x"},
		{"glued value, short", "-n4 ./x", "unknown flag -n4", "gorun -n 4 ./x"},
		{"ranks per host", "-N gpus ./x", "expected a whole number of ranks, or gpu", "gorun -N gpu ./x"},
		{"ranks per host, nothing near", "-N many ./x", "expected a whole number of ranks, or gpu", "gorun -N 8 ./x"},
		{"port", "-p 70000 ./x", "1 to 65535", "gorun -p 2222 ./x"},
		{"time", "--timeout soon ./x", `--timeout: expected a time, as seconds or like 1m30s, found "soon"`, "gorun --timeout 1h30m ./x"},
		{"negative time", "--timeout -5s ./x", `found "-5s"`, ""},
		{"two points", "--timeout 1.2.3 ./x", `found "1.2.3"`, ""},
		{"a point", "--timeout . ./x", `found "."`, ""},
		{"endless time", "--timeout 99999999999999 ./x", `found "99999999999999"`, ""},
		{"one of", "--export some ./x", `--export: expected all, listed or none, found "some"`, "gorun --export all ./x"},
		{"mapping", "--map-by dist ./x", "expected slot, node, numa, package, l3, gpu, seq, core, hwthread, ppr:N:node or rankfile:F", "gorun --map-by slot ./x"},
		{"mapping, a slip", "--map-by sot ./x", `found "sot"`, "gorun --map-by slot ./x"},
		{"mapping, a slip, joined", "--map-by=ndoe:PE=2 ./x", `found "ndoe:PE=2"`, "gorun --map-by node ./x"},
		{"rankfile, a slip", "--map-by rankfle:f ./x", `found "rankfle:f"`, "gorun --map-by rankfile:ranks ./x"},
		{"no rankfile", "-rf= ./x", "-rf: expected rankfile:F", "gorun --map-by rankfile:ranks ./x"},
		{"modifier", "--map-by node:NOLOCAL ./x", `expected the modifiers PE=N, OVERSUBSCRIBE or NOOVERSUBSCRIBE behind a mapping, not "NOLOCAL"`, "gorun --map-by node ./x"},
		{"modifier, a slip", "--map-by :oversubscibe ./x", `not "oversubscibe"`, "gorun --map-by slot:OVERSUBSCRIBE ./x"},
		{"ranks per socket", "--map-by ppr:2:socket ./x", "with two of these on each host, 4 ranks", "gorun --map-by package -N 4 ./x"},
		{"ranks per socket, joined", "--ppr=2:socket ./x", "--ppr: expected ppr:N:node", "gorun --map-by package -N 4 ./x"},
		{"a rank per core", "--map-by ppr:1:core ./x", "is a mapping by itself", "gorun --map-by core ./x"},
		{"ranks per core", "--map-by ppr:2:core ./x", "expected ppr:N:node, ranks per node", "gorun --map-by ppr:8:node ./x"},
		{"binding, a slip", "--bind-to nmua ./x", "expected share, none, hwthread, core, l3, numa, package or gpu", "gorun --bind-to numa ./x"},
		{"binding, overload", "--bind-to core:overload-allowed ./x", "share binds nothing where ranks outnumber cores", "gorun --bind-to share ./x"},
		{"binding, modifier", "--bind-to numa:2 ./x", `not "2"`, "gorun --bind-to numa ./x"},
		{"progress, a slip", "--progress onn ./x", "expected auto, on or off", "gorun --progress on ./x"},
		{"failure, a slip", "--on-failure stopp ./x", "expected stop or continue", "gorun --on-failure stop ./x"},
		{"launcher, a slip", "--launcher shh ./x", "expected auto, ssh, slurm or local", "gorun --launcher ssh ./x"},
		{"launcher, of Hydra's, a slip", "-bootstrap shh ./x", "expected auto, ssh, slurm or local", "gorun -bootstrap ssh ./x"},
		{"export, a slip", "--export al ./x", "expected all, listed or none", "gorun --export all ./x"},
		{"limit, a slip", "--rlimit nofiles=64 ./x", "expected memlock, nofile, core or stack", "gorun --rlimit nofile=64 ./x"},
		{"limit, no number", "--rlimit stack=big ./x", "a number of bytes or files or the word unlimited", "gorun --rlimit stack=unlimited ./x"},
		{"signal, a slip", "--timeout 60 --signal SIGUSR9@5 ./x", "a signal, by name", "gorun --timeout 60 --signal USR1@5 ./x"},
		{"signal, no time", "--timeout 60 --signal int ./x", "how long before the end", "gorun --timeout 60 --signal int@30 ./x"},
		{"launchers, a slip", "--env-compat ompi,torhc ./x", "some of torch, ompi, pmi, jax and slurm", "gorun --env-compat torch ./x"},
		{"standard input, a slip", "--stdin nnoe ./x", "expected a rank, all or none", "gorun --stdin none ./x"},
		{"what to display, a slip", "--display bindngs ./x", "expected a list of map, bindings and allocation", "gorun --display bindings ./x"},
		{"an output file of srun's", "--output out.%t ./x", "files as srun has them: --output-dir DIR", "gorun --output tag,dir=out:nocopy ./x"},
		{"CPUs of srun's", "--cpu-bind map_cpu:0,1 ./x", "for CPUs of single ranks: --map-by rankfile:F", "gorun --cpu-bind cores ./x"},
		{"distribution of srun's", "-m plane=2 ./x", "expected block, cyclic", "gorun -m block ./x"},
		{"mpi of horovodrun's", "--mpi ./x", "horovodrun's --mpi is to be left out", "gorun --mpi none"},
		{"flag for a path", "-hostfile -l ./x", `-hostfile: expected a path`, "gorun -hostfile hosts -l ./x"},
		{"flag for a list", "-H -l ./x", `-H: expected a list of hosts, found "-l"`, ""},
		{"flag for a variable", "-x -np 2 ./x", `-x: expected the name of a variable`, "gorun -x NCCL_DEBUG=INFO -np 2 ./x"},
		{"no variable", "-x =1 ./x", `-x: expected the name of a variable and its value, found "=1"`, ""},
		{"no variable, two words", "-genv =1 2 ./x", `found "=1 2"`, "gorun -genv NCCL_DEBUG INFO ./x"},
		{"slip", "--timout 5 ./x", "unknown flag --timout", "did you mean: gorun --timeout 5 ./x"},
		{"slip, joined", "--timout=5 ./x", "unknown flag --timout=5", "did you mean: gorun --timeout=5 ./x"},
		{"near to a foreign one only", "-c4 ./x", "unknown flag -c4", "gorun help lists"},
		{"a dash too many", "---np 2 ./x", "unknown flag ---np", "did you mean: gorun -np 2 ./x"},
		{"a dash too many, joined", "---np=2 ./x", "unknown flag ---np=2", "did you mean: gorun -np=2 ./x"},
		{"nothing near", "--frobnicate ./x", "unknown flag --frobnicate", "gorun help"},
		{"c", "-c 4 ./x", "-c is refused", "for the number of ranks: gorun -np 4 ./x"},
		{"no program", "-np 4", "expected a program, found the end of the command", "gorun -np 4 ./train"},
		{"no program behind dashes", "-np 4 --", "expected a program", ""},
		{"two numbers of ranks on a host", "-N 2 --map-by ppr:1:node ./x", "expected the same number of ranks on each host", "gorun --map-by ppr:1:node ./x"},
		{"one rank on a host, and two", "-pernode --map-by ppr:2:node ./x", "expected the same number of ranks on each host", "gorun --map-by ppr:2:node ./x"},
		{"files by a pattern", "-outfile-pattern x ./x", "--output-dir DIR and --output-only instead", "gorun --output-dir out --output-only ./x"},
		{"module of torchrun's", "-m package.train --epochs 3", "a program, which is named first", "gorun python3 -m package.train --epochs 3"},
		{"module of torchrun's, long", "--module=train", "a program, which is named first", "gorun python3 -m train"},
		{"a value that is optional", "--propagate -n 1 ./x", "--propagate is not a flag of gorun", "gorun -n 1 ./x"},
		{"a program for a number", "-np echo a", "-np: expected a whole number of ranks", "for the program echo: gorun -np 4 echo a"},
		{"several variables", "-x FOO,SECRET ./x", `one variable, as each has a -x of its own, found "FOO,SECRET"`, "gorun -x FOO -x SECRET ./x"},
		{"as many hosts as there are", "--nnodes 1:3 ./x", "a job has as many while it runs", "gorun --nnodes 3 ./x"},
		{"torchrun's auto", "--nproc-per-node auto ./x", "a rank for each GPU, or else for each core", "gorun --nproc-per-node gpu ./x"},
		{"hosts and ranks read one input", "-hostfile - --stdin 0 ./x", "--stdin: expected standard input for the ranks", "gorun -hostfile - ./x"},
		{"a folder is no template", "--template --output-dir o.{host} ./x", "which --template does not fill", "gorun --template --output-dir out ./x"},
		{"two things to print", "--dry-run --show-env 0 ./x", "expected one of them, found both", "gorun --show-env 0 ./x"},
		{"bindings beside variables", "--report-bindings --show-env 0 ./x", "expected no --show-env beside it", "gorun --report-bindings ./x"},
		{"a program beside a file of them", "--app f ./x", "--app: expected no program beside it, found ./x", "gorun --app f"},
		{"ranks beside a file of programs", "-np 2 --app f", "the number of ranks of each program in its line", "f: -np 2 ./train"},
		{"files without stage", "--stage-file f ./x", "expected --stage", "gorun --stage --stage-file f ./x"},
		{"no program before a colon", "-np 2 : ./b", `expected a program, found ":"`, "gorun -np 2 ./train : ./b"},
		{"no program between colons", "-np 2 ./a : -np 1 : ./b", `expected a program, found ":"`, "gorun -np 2 ./a : -np 1 ./train : ./b"},
		{"no program behind a colon", "-np 2 ./a :", `expected a program behind ":"`, "gorun -np 2 ./a : ./train"},
		{"a colon for the program", "sh -c :", `expected a program behind ":"`, "gorun -- sh -c :"},
		{"a colon for a program with flags", "-np 2 -l sh : x", "the number of ranks", "gorun -np 2 -l -- sh : x"},
		{"hosts of one program only", "-np 1 ./a : -H b -np 1 ./b", "-H: expected it for each program or for none but the first, found none for ./a", "gorun -H a:1 -np 1 ./a : -H b -np 1 ./b"},
		{"hosts of programs and a file", "-hostfile h -np 1 ./a : -H b -np 1 ./b", "-H: expected it for the job or for each program, found both", "-H a:1,b:7"},
		{"hosts of programs and a mapping", "--map-by node -H a -np 1 ./a : -H b -np 1 ./b", "expected no --map-by beside it", "-H a:1,b:7"},
		{"no number of ranks", "-np 2 ./a : -x A=1 ./b", "expected the number of ranks of each of several programs, found none for ./b", "gorun -np 2 ./a : -np 1 -x A=1 ./b"},
		{"no number of ranks of the first", "./a : -np 2 ./b", "found none for ./a", "gorun -np 1 ./a : -np 2 ./b"},
		{"a flag for the whole job", "-np 2 ./a : -np 1 --timeout 5 ./b", "--timeout is for the whole job", "gorun --timeout 5 -np 2 ./a : -np 1 ./b"},
		{"a bad value of the second", "-np 2 ./a : -np x ./b", `-np: expected a whole number of ranks`, "gorun -np 2 ./a : -np 4 ./b"},
		{"a slip of the second", "-np 2 ./a : -nq 2 ./b", "unknown flag -nq", "gorun -np 2 ./a : -np 2 ./b"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := parse(words(test.line))
			usage, ok := errors.AsType[*usageError](err)
			require.True(t, ok, "%v", err)
			require.Contains(t, usage.msg, test.msg)
			require.NotEmpty(t, usage.hints)
			require.Contains(t, strings.Join(usage.hints, "\n"), test.hint)
		})
	}
}

func TestParseRefusesEmptyProgram(t *testing.T) {
	_, err := parse([]string{"-np", "2", ""})
	require.ErrorContains(t, err, "empty word")
}

func TestParseSeveralPrograms(t *testing.T) {
	c, err := parse(words("-l -np 2 -x A=1 -wdir /a ./a -np 9 : -l -n 3 -env B 2 ./b : -np 1 -- c : -d"))
	require.NoError(t, err)
	require.Equal(t, []launcher.App{
		{Args: words("./a -np 9"), Ranks: 2, Dir: "/a", Env: []string{"A=1"}},
		{Args: words("./b"), Ranks: 3, Env: []string{"B=2"}},
		{Args: words("c : -d"), Ranks: 1},
	}, c.job.Apps)
	require.Empty(t, c.job.Env.Set)
}

func TestHostsOfEachProgram(t *testing.T) {
	c, err := parse(words("-H a:2,b -np 3 ./a : -H B,u@c:9 -host a -np 3 ./b"))
	require.NoError(t, err)
	hosts, err := c.hosts()
	require.NoError(t, err)
	require.Equal(t, "seq", c.job.Placement.MapBy)
	var got []string
	for _, h := range hosts {
		got = append(got, fmt.Sprintf("%s@%s %d %v", h.User, h.Name, h.Slots, h.Turns))
	}
	require.Equal(t, []string{"@a 2 [0 1]", "@b 2 [2 3]", "u@c 2 [4 5]"}, got)

	c, err = parse(words("-H a -np 1 ./a : -H b,c -np 3 ./b"))
	require.NoError(t, err)
	_, err = c.hosts()
	require.EqualError(t, err, "-H: expected slots for the 3 ranks of ./b, found b 1 + c 1")
}

// Every name must lead to its own entry, whether it is ours or
// foreign, and what is ours must have one.
func TestGrammar(t *testing.T) {
	flags := newCommand(nil).flags()
	g := newGrammar(flags)
	seen := map[string]bool{}
	for _, f := range g {
		require.NotEmpty(t, f.names)
		for _, name := range f.names {
			require.False(t, seen[name], "-%s is there twice", name)
			seen[name] = true
			require.Equal(t, f.names, g.lookup(name).names)
		}
	}
}

func TestNearestFlag(t *testing.T) {
	for name, want := range map[string]string{
		"hostfle":         "hostfile",
		"host-file":       "hostfile",
		"tagoutput":       "tag-output",
		"npp":             "np",
		"dryrun":          "dry-run",
		"nproc_per_nodes": "nproc-per-node",
		"xyzzy":           "",
		"zz":              "",
		"":                "",
	} {
		require.Equal(t, want, newGrammar(newCommand(nil).flags()).nearest(name), "nearest to %q", name)
	}
}

func TestCommandLine(t *testing.T) {
	require.Equal(t, `gorun -x 'A=it'\''s' 'two words' ''`, commandLine([]string{"-x", "A=it's", "two words", ""}))
	long := commandLine(slices.Repeat([]string{"argument"}, 1000))
	require.Less(t, len(long), 200)
	require.True(t, strings.HasSuffix(long, " …"))
}

func TestWithFlag(t *testing.T) {
	tests := []struct{ name, line, flag, value, want string }{
		{"not given", "-np 2 ./x -i a", "i", "KEY", "-i KEY -np 2 ./x -i a"},
		{"given", "-np 2 -i a ./x", "i", "KEY", "-np 2 -i KEY ./x"},
		{"joined", "--wd=a ./x", "wdir", "DIR", "--wd=DIR ./x"},
		{"another spelling", "-npernode 2 ./x", "N", "4", "-npernode 4 ./x"},
		{"the last one counts", "-i a -i b ./x", "i", "KEY", "-i a -i KEY ./x"},
		{"a foreign switch", "-pernode ./x", "N", "4", "-N 4 ./x"},
		{"a switch", "./x", "stage", "", "--stage ./x"},
		{"a switch that is there", "--preload-binary ./x", "stage", "", "--preload-binary ./x"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			require.Equal(t, words(test.want), withFlag(words(test.line), test.flag, words(test.value)...))
		})
	}
}

// FuzzParse checks, for any words: settings and programs account for all that
// was given, and a refusal offers help.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"-np 4 ./x -l", "-- x", "-genv A B x", "--np=4 -l=no x", "-x=A=1 x", "-np4 x", "-c 2 x", "a : b", "-np 1 a : -np 2 -- b : c", "-np 1 a : -l b", "a :",
		"--mca a b x", "--timout 3 x", "--- x", "-= x", "-- ", "-", "-x=", "-H [::1]:2 x", "-np 99999999999999999999 x", "--=",
	} {
		f.Add(strings.ReplaceAll(seed, " ", "\x00"))
	}
	f.Fuzz(func(t *testing.T, line string) {
		argv := strings.Split(line, "\x00")
		before := slices.Clone(argv)
		c, err := parse(argv)
		require.Equal(t, before, argv, "argv was changed")
		if err != nil {
			usage, ok := errors.AsType[*usageError](err)
			require.True(t, ok, "%v", err)
			require.NotEmpty(t, usage.msg)
			require.NotEmpty(t, usage.hints)
			return
		}
		at := 0
		for i, p := range partsOf(argv) {
			if i > 0 {
				require.Equal(t, ":", argv[at])
				at++
			}
			require.Equal(t, at, p.at)
			for _, s := range p.settings {
				require.Equal(t, at, s.at, "%q is lost", argv[at])
				at += s.words()
				require.LessOrEqual(t, len(s.values), len(strings.Fields(s.form.args)))
			}
			if at < p.begin {
				require.Equal(t, "--", argv[at])
			}
			at = p.begin + len(p.program)
			if !c.help && !c.version {
				require.Equal(t, c.job.Apps[i].Args, p.program)
			}
		}
		require.Equal(t, len(argv), at)
	})
}
