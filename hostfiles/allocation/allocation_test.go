package allocation_test

import (
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/hostfiles"
	"github.com/gorun/gorun/hostfiles/allocation"
)

// read reads the allocation of an environment, written NAME=value, with files
// by their paths.
func read(files map[string]string, environ ...string) (*allocation.Allocation, error) {
	getenv := func(name string) string {
		for _, entry := range environ {
			if value, ok := strings.CutPrefix(entry, name+"="); ok {
				return value
			}
		}
		return ""
	}
	return allocation.Read(getenv, func(path string) (io.ReadCloser, error) {
		text, ok := files[path]
		if !ok {
			return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
		}
		return io.NopCloser(strings.NewReader(text)), nil
	})
}

// short writes hosts as -H does; hosts without slots have nothing behind them.
func short(hosts []hostfiles.Host) string {
	var all []string
	for _, h := range hosts {
		if h.Slots > 0 {
			all = append(all, fmt.Sprintf("%s:%d", h.Name, h.Slots))
		} else {
			all = append(all, h.Name)
		}
	}
	return strings.Join(all, " ")
}

// Samples are what jobs find, with the allocation that it means.
func TestSamples(t *testing.T) {
	samples, err := filepath.Glob("testdata/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, samples)
	for _, sample := range samples {
		t.Run(filepath.Base(sample), func(t *testing.T) {
			archive, err := txtar.ParseFile(sample)
			require.NoError(t, err)
			files := map[string]string{}
			for _, f := range archive.Files {
				files[f.Name] = string(f.Data)
			}
			a, err := read(files, strings.Split(files["environ"], "\n")...)
			require.NoError(t, err)
			got := a.String() + "\n"
			if a.InStep {
				got += "in a step\n"
			}
			for _, h := range a.Hosts {
				got += h.String() + "\n"
			}
			require.Equal(t, files["allocation"], got)
		})
	}
}

func TestSlurm(t *testing.T) {
	for _, tt := range []struct {
		name    string
		environ []string
		want    string
	}{
		{"tasks", []string{"SLURM_JOB_NODELIST=n[1-3]", "SLURM_NTASKS=20", "SLURM_TASKS_PER_NODE=8(x2),4", "SLURM_JOB_CPUS_PER_NODE=64(x3)"}, "n1:8 n2:8 n3:4"},
		{"the names of old versions", []string{"SLURM_NODELIST=n1,n2", "SLURM_NPROCS=3", "SLURM_TASKS_PER_NODE=2,1"}, "n1:2 n2:1"},
		{"ranges in ranges, padded", []string{"SLURM_JOB_NODELIST=rack[1-2]gpu[09-10],login", "SLURM_JOB_CPUS_PER_NODE=2(x4),1"},
			"rack1gpu09:2 rack1gpu10:2 rack2gpu09:2 rack2gpu10:2 login:1"},
		{"tasks of each node", []string{"SLURM_JOB_NODELIST=n[1-2]", "SLURM_NTASKS_PER_NODE=4"}, "n1:4 n2:4"},
		{"in a step of one node", []string{"SLURM_JOB_NODELIST=n[1-2]", "SLURM_STEP_ID=0", "SLURM_NTASKS=1", "SLURM_TASKS_PER_NODE=1", "SLURM_NTASKS_PER_NODE=4"}, "n1:4 n2:4"},
		{"in a shell that is a step", []string{"SLURM_JOB_NODELIST=n1", "SLURM_STEP_ID=0", "SLURM_NTASKS=1", "SLURM_TASKS_PER_NODE=1", "SLURM_GPUS_PER_NODE=8"}, "n1:8"},
		{"GPUs of each node", []string{"SLURM_JOB_NODELIST=n[1-2]", "SLURM_GPUS_PER_NODE=h100:8", "SLURM_JOB_CPUS_PER_NODE=128(x2)"}, "n1:8 n2:8"},
		{"GPUs of several types", []string{"SLURM_JOB_NODELIST=n1", "SLURM_GPUS_PER_NODE=a100:4,h100:2"}, "n1:6"},
		{"GPUs asked for by --gres", []string{"SLURM_JOB_NODELIST=n[1-2]", "SLURM_GPUS_ON_NODE=4", "SLURM_JOB_CPUS_PER_NODE=128(x2)"}, "n1:4 n2:4"},
		{"GPUs asked for as a sum", []string{"SLURM_JOB_NODELIST=n[1-2]", "SLURM_GPUS=6", "SLURM_GPUS_ON_NODE=4", "SLURM_JOB_CPUS_PER_NODE=128(x2)"}, "n1 n2"},
		{"tasks before GPUs", []string{"SLURM_JOB_NODELIST=n1", "SLURM_NTASKS=2", "SLURM_TASKS_PER_NODE=2", "SLURM_GPUS_PER_NODE=8"}, "n1:2"},
		{"processors", []string{"SLURM_JOB_NODELIST=n[1-3]", "SLURM_TASKS_PER_NODE=64(x2),3", "SLURM_JOB_CPUS_PER_NODE=64(x2),3", "SLURM_CPUS_PER_TASK=4"}, "n1:16 n2:16 n3:1"},
		{"no word of slots", []string{"SLURM_JOB_NODELIST=n[1-2]"}, "n1 n2"},
		{"beside another scheduler's variables", []string{"SLURM_JOB_NODELIST=n1", "SLURM_JOB_CPUS_PER_NODE=1", "PBS_JOBID=2", "PBS_NODEFILE=/gone"}, "n1:1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, err := read(nil, append(tt.environ, "SLURM_JOB_ID=7")...)
			require.NoError(t, err)
			require.Equal(t, tt.want, short(a.Hosts))
			require.Equal(t, "Slurm's job 7", a.String())
		})
	}
}

func TestSlurmRefuses(t *testing.T) {
	for _, tt := range []struct {
		name    string
		environ []string
		want    string
	}{
		{"a job without nodes", []string{"SLURM_JOB_ID=7"}, "SLURM_JOB_ID: expected SLURM_JOB_NODELIST beside it, which has the job's hosts, found none"},
		{"nodes without a job", []string{"SLURM_JOB_NODELIST=n1"}, "SLURM_JOB_NODELIST: expected SLURM_JOB_ID beside it, which names the job, found none"},
		{"several components", []string{"SLURM_JOB_ID=7", "SLURM_JOB_NODELIST=n1", "SLURM_HET_SIZE=2"},
			"SLURM_HET_SIZE: expected a job of one component, found a heterogeneous one of 2"},
		{"a step of several tasks", []string{"SLURM_JOB_ID=7", "SLURM_JOB_NODELIST=n1", "SLURM_STEP_ID=0", "SLURM_STEP_NUM_TASKS=8"},
			"SLURM_STEP_NUM_TASKS: expected 1, since each of this step's tasks would start a job on the same hosts, found 8"},
		{"a range left open", []string{"SLURM_JOB_ID=7", "SLURM_JOB_NODELIST=n1,n[2-3"},
			`SLURM_JOB_NODELIST:1:5: expected "]" at the end of a range, found "[2-3"`},
		{"a box", []string{"SLURM_JOB_ID=7", "SLURM_JOB_NODELIST=bgl[000x133]"},
			`SLURM_JOB_NODELIST:1:5: expected numbers, as 7 or 01-16, in a range, found "000x133"`},
		{"what is no node list", []string{"SLURM_JOB_ID=7", "SLURM_NODELIST=lee@n1:2"},
			`SLURM_NODELIST:1:1: expected names of nodes, each once, found "lee@n1:2"`},
		{"tasks that are no number", []string{"SLURM_JOB_ID=7", "SLURM_JOB_NODELIST=n[1-2]", "SLURM_NTASKS=4", "SLURM_TASKS_PER_NODE=2,x"},
			`SLURM_TASKS_PER_NODE:1:3: expected a number of slots from 1 to 1048576, found "x"`},
		{"tasks of other nodes", []string{"SLURM_JOB_ID=7", "SLURM_JOB_NODELIST=n[1-2]", "SLURM_NTASKS=4", "SLURM_TASKS_PER_NODE=4"},
			`SLURM_TASKS_PER_NODE: expected the tasks of 2 nodes, found those of 1 in "4"`},
		{"a repetition left open", []string{"SLURM_JOB_ID=7", "SLURM_JOB_NODELIST=n[1-2]", "SLURM_JOB_CPUS_PER_NODE=8(x2"},
			`SLURM_JOB_CPUS_PER_NODE:1:2: expected "(xN)" for at most 65536 nodes, found "(x2"`},
		{"endless repetition", []string{"SLURM_JOB_ID=7", "SLURM_JOB_NODELIST=n[1-2]", "SLURM_JOB_CPUS_PER_NODE=8(x99999999)"},
			`SLURM_JOB_CPUS_PER_NODE:1:2: expected "(xN)" for at most 65536 nodes, found "(x99999999)"`},
		{"processors of other nodes", []string{"SLURM_JOB_ID=7", "SLURM_JOB_NODELIST=n[1-3]", "SLURM_JOB_CPUS_PER_NODE=8(x2)"},
			`SLURM_JOB_CPUS_PER_NODE: expected the processors of 3 nodes, found those of 2 in "8(x2)"`},
		{"processors of a task", []string{"SLURM_JOB_ID=7", "SLURM_JOB_NODELIST=n1", "SLURM_JOB_CPUS_PER_NODE=8", "SLURM_CPUS_PER_TASK=0"},
			`SLURM_CPUS_PER_TASK:1:1: expected a number of slots from 1 to 1048576, found "0"`},
		{"GPUs", []string{"SLURM_JOB_ID=7", "SLURM_JOB_NODELIST=n1", "SLURM_GPUS_PER_NODE=h100:2,a100"},
			`SLURM_GPUS_PER_NODE:1:8: expected a number of slots from 1 to 1048576, found "a100"`},
	} {
		t.Run(tt.name, func(t *testing.T) { requireRefused(t, nil, tt.environ, allocation.Slurm, tt.want) })
	}
}

// requireRefused requires that an environment is refused with the text want.
func requireRefused(t *testing.T, files map[string]string, environ []string, by allocation.Scheduler, want string) {
	t.Helper()
	a, err := read(files, environ...)
	require.Nil(t, a)
	var refused *allocation.VariableError
	require.ErrorAs(t, err, &refused)
	require.EqualError(t, err, want)
	require.Equal(t, by, refused.Scheduler)
	name, _, _ := strings.Cut(want, ":")
	require.Equal(t, name, refused.Name)
	require.Equal(t, strings.HasSuffix(want, "found none"), refused.Incomplete)
}

func TestPBS(t *testing.T) {
	files := map[string]string{"/pbs": "a.lan\na.lan\nb.lan\na.lan\n", "/once": "a\r\nb", "/empty": "\n", "/bad": "a\nb c[1\n"}
	a, err := read(files, "PBS_JOBID=12.server", "PBS_NODEFILE=/pbs", "PBS_NUM_PPN=9")
	require.NoError(t, err)
	require.Equal(t, "PBS's job 12.server", a.String())
	require.Equal(t, "a.lan:3 b.lan:1", short(a.Hosts))

	a, err = read(files, "PBS_JOBID=12.server", "PBS_NODEFILE=/once")
	require.NoError(t, err)
	require.Equal(t, "a:1 b:1", short(a.Hosts))

	a, err = read(files, "PBS_JOBID=12.server", "PBS_NODEFILE=/once", "PBS_NUM_PPN=8")
	require.NoError(t, err)
	require.Equal(t, "a:8 b:8", short(a.Hosts))

	for _, tt := range []struct {
		name    string
		environ []string
		want    string
	}{
		{"a job without a file", []string{"PBS_JOBID=12"}, "PBS_JOBID: expected PBS_NODEFILE beside it, which names the job's hosts, found none"},
		{"a file that is gone", []string{"PBS_NODEFILE=/gone"}, "PBS_NODEFILE: open /gone: file does not exist"},
		{"an empty file", []string{"PBS_NODEFILE=/empty"}, "PBS_NODEFILE: /empty:1:1: expected a host, found nothing"},
		{"what is no host", []string{"PBS_NODEFILE=/bad"}, `PBS_NODEFILE: /bad:2:3: expected the name of a host, found "c[1"`},
		{"processors of a node", []string{"PBS_NODEFILE=/once", "PBS_NUM_PPN=many"},
			`PBS_NUM_PPN:1:1: expected a number of slots from 1 to 1048576, found "many"`},
	} {
		t.Run(tt.name, func(t *testing.T) { requireRefused(t, files, tt.environ, allocation.PBS, tt.want) })
	}
}

func TestLSF(t *testing.T) {
	files := map[string]string{"/lsf": "a\na\nb\n"}
	for _, tt := range []struct {
		name    string
		environ []string
		want    string
	}{
		{"all variables", []string{"LSB_DJOB_HOSTFILE=/lsf", "LSB_MCPU_HOSTS=c 1", "LSB_HOSTS=d"}, "a:2 b:1"},
		{"pairs", []string{"LSB_MCPU_HOSTS=a 4 b 2 ", "LSB_HOSTS=d"}, "a:4 b:2"},
		{"the oldest", []string{"LSB_HOSTS=a b a"}, "a:2 b:1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, err := read(files, append(tt.environ, "LSB_JOBID=3")...)
			require.NoError(t, err)
			require.Equal(t, tt.want, short(a.Hosts))
			require.Equal(t, "LSF's job 3", a.String())
		})
	}
	for _, tt := range []struct {
		name    string
		environ []string
		want    string
	}{
		{"a job without hosts", []string{"LSB_JOBID=3"}, "LSB_JOBID: expected LSB_DJOB_HOSTFILE or LSB_MCPU_HOSTS beside it, which has the job's hosts, found none"},
		{"a file that is gone", []string{"LSB_DJOB_HOSTFILE=/gone"}, "LSB_DJOB_HOSTFILE: open /gone: file does not exist"},
		{"half a pair", []string{"LSB_MCPU_HOSTS=a 4 b"}, "LSB_MCPU_HOSTS:1:6: expected the slots of b, found nothing"},
		{"half a pair at the start", []string{"LSB_MCPU_HOSTS=a b 4"}, `LSB_MCPU_HOSTS:1:3: expected a number of slots from 1 to 1048576, found "b"`},
		{"too many slots", []string{"LSB_MCPU_HOSTS=a 1048576 a 1"}, `LSB_MCPU_HOSTS:1:11: expected at most 1048576 slots for a, found "1048577"`},
	} {
		t.Run(tt.name, func(t *testing.T) { requireRefused(t, files, tt.environ, allocation.LSF, tt.want) })
	}
}

func TestGridEngine(t *testing.T) {
	files := map[string]string{
		"/pe":   "a.lan 4 all.q@a.lan UNDEFINED\nb.lan 2 all.q@b.lan 0,0:0,1\na.lan 1 gpu.q@a.lan <NULL>\n",
		"/half": "a.lan\n",
	}
	a, err := read(files, "JOB_ID=9", "PE_HOSTFILE=/pe")
	require.NoError(t, err)
	require.Equal(t, "a.lan:5 b.lan:2", short(a.Hosts))
	require.Equal(t, "Grid Engine's job 9", a.String())

	requireRefused(t, files, []string{"PE_HOSTFILE=/half"}, allocation.GridEngine, "PE_HOSTFILE: /half:1:6: expected the slots of a.lan, found nothing")
	requireRefused(t, files, []string{"PE_HOSTFILE=/gone"}, allocation.GridEngine, "PE_HOSTFILE: open /gone: file does not exist")
}

func TestNoAllocation(t *testing.T) {
	a, err := read(nil, "JOB_ID=9", "SLURM_CONF=/etc/slurm.conf", "LSB_QUEUE=normal")
	require.NoError(t, err)
	require.Nil(t, a)
}

func FuzzRead(f *testing.F) {
	for _, name := range []string{"SLURM_JOB_NODELIST", "SLURM_TASKS_PER_NODE", "SLURM_JOB_CPUS_PER_NODE", "SLURM_GPUS_PER_NODE", "LSB_MCPU_HOSTS", "PBS_NODEFILE", "PE_HOSTFILE"} {
		for _, value := range []string{"n[1-3]", "rack[1-2]gpu[01-04,08],x", "8(x2),4", "64", "h100:8", "a 4 b 2", "a\na\nb\n", "a 4 all.q UNDEFINED\n", "(x", "a]", "99999999999999999999"} {
			f.Add(name, value)
		}
	}
	f.Fuzz(func(t *testing.T, name, value string) {
		// The fuzzed variable comes first, and every file has its value.
		environ := []string{name + "=" + value, "SLURM_NTASKS=3", "SLURM_JOB_ID=1"}
		if strings.HasPrefix(name, "SLURM") {
			environ = append(environ, "SLURM_JOB_NODELIST=n[1-3]")
		} else {
			environ = environ[:1]
		}
		a, err := read(map[string]string{value: value}, environ...)
		if err != nil {
			var refused *allocation.VariableError
			require.ErrorAs(t, err, &refused)
			require.Nil(t, a)
			return
		}
		if a == nil {
			return
		}
		require.NotEmpty(t, a.Hosts)
		seen := map[string]bool{}
		for _, h := range a.Hosts {
			require.False(t, seen[h.Name], "%s is there twice", h.Name)
			seen[h.Name] = true
			require.GreaterOrEqual(t, h.Slots, 0)
		}
	})
}
