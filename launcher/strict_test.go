package launcher

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/launcher/wire"
	"github.com/gorun/gorun/nccl/topo"
)

func TestStrictRefusesWhatIsElseWarnedOf(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Job)
		want   string
		status int
	}{
		"a variable that is not set": {func(j *Job) { j.Env.Pass = []string{"NO_SUCH_VARIABLE"} }, "NO_SUCH_VARIABLE", StatusUsage},
		"more ranks than CPUs":       {func(j *Job) { j.Apps[0].Ranks = 1000 }, "more ranks than cores", StatusUsage},
	} {
		t.Run(name, func(t *testing.T) {
			job := sh(1, `exit 0`)
			c.change(job)
			job.Strict = true
			o := run(t, job)
			require.Equal(t, c.status, o.Status)
			require.ErrorContains(t, o.err, c.want)
			require.Empty(t, o.Ranks)
			require.Zero(t, countOf(o.events, Warning))
		})
	}
	job := sh(1, `exit 0`)
	job.Strict = true
	require.NoError(t, run(t, job).err)
}

func TestStrictWantsTheWorkingFolderEverywhere(t *testing.T) {
	t.Chdir(t.TempDir())
	here, err := os.Getwd()
	require.NoError(t, err)
	job, _ := hosts(t, []int{1}, `pwd`)
	job.Strict = true
	require.NoError(t, os.Remove(here))
	o := run(t, job)
	require.Equal(t, StatusNotFound, o.Status, "%v", o.err)
}

func TestHostsShortOfGPUsAreNamed(t *testing.T) {
	var hosts []*host
	for i, n := range []int{8, 7, 8, 0} {
		hosts = append(hosts, &host{name: string('a' + rune(i)), hello: &wire.Hello{Topo: topo.Inventory{Accelerators: make([]topo.Accelerator, n)}}})
	}
	require.Equal(t, []string{"b has 7 GPUs, its peers have 8"}, shortOfGPUs(hosts))
}
