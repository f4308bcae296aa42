package launcher

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/hostfiles"
	"github.com/gorun/gorun/launcher/placement"
	"github.com/gorun/gorun/launcher/wire"
	"github.com/gorun/gorun/nccl/topo"
)

// reached is a host whose agent has reported GPUs of these UUIDs.
func reached(entry hostfiles.Host, uuids ...string) *host {
	h := &host{entry: entry, name: entry.Name, hello: &wire.Hello{}}
	for i, uuid := range uuids {
		h.hello.Topo.Accelerators = append(h.hello.Topo.Accelerators, topo.Accelerator{Index: i, UUID: uuid})
	}
	h.hello.Topo.Threads = []topo.Thread{{CPU: 3}, {CPU: 5}}
	return h
}

func TestEntriesChooseGPUs(t *testing.T) {
	for name, c := range map[string]struct {
		entry hostfiles.Host
		want  []string
	}{
		"all":                           {hostfiles.Host{}, []string{"x", "y", "z"}},
		"in the entry's order":          {hostfiles.Host{GPUs: []int{2, 0}}, []string{"z", "x"}},
		"all but some":                  {hostfiles.Host{SkipGPUs: []int{1}}, []string{"x", "z"}},
		"what is not there is left out": {hostfiles.Host{GPUs: []int{7, 1}}, []string{"y"}},
	} {
		t.Run(name, func(t *testing.T) {
			seats := seats([]*host{reached(c.entry, "x", "y", "z"), {name: "b"}})
			var uuids []string
			for _, g := range seats[0].Topo.Accelerators {
				uuids = append(uuids, g.UUID)
			}
			require.Equal(t, c.want, uuids)
			require.Equal(t, []int{3, 5}, seats[0].CPUs)
			require.Nil(t, seats[1].Topo, "not reached yet")
		})
	}
}

func TestEntriesOfOneHostJoinTheirGPUs(t *testing.T) {
	for name, c := range map[string]struct {
		a, b       hostfiles.Host
		gpus, skip []int
	}{
		"all":              {hostfiles.Host{}, hostfiles.Host{}, nil, nil},
		"some and others":  {hostfiles.Host{GPUs: []int{2, 0}}, hostfiles.Host{GPUs: []int{0, 1}}, []int{2, 0, 1}, nil},
		"some and all":     {hostfiles.Host{GPUs: []int{2, 0}}, hostfiles.Host{}, nil, nil},
		"all but the same": {hostfiles.Host{SkipGPUs: []int{1, 2}}, hostfiles.Host{SkipGPUs: []int{2, 3}}, nil, []int{2}},
		"all but some":     {hostfiles.Host{GPUs: []int{1}}, hostfiles.Host{SkipGPUs: []int{1, 2}}, nil, []int{2}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, pair := range [][2]hostfiles.Host{{c.a, c.b}, {c.b, c.a}} {
				gpus, skip := bothGPUs(pair[0], pair[1])
				require.ElementsMatch(t, c.gpus, gpus)
				require.ElementsMatch(t, c.skip, skip)
			}
		})
	}
}

func TestGPUsThatCannotBe(t *testing.T) {
	a, b := hostfiles.Host{Name: "a"}, hostfiles.Host{Name: "b"}
	only := func(h hostfiles.Host, gpus ...int) hostfiles.Host { h.GPUs = gpus; return h }
	for name, c := range map[string]struct {
		hosts []*host
		want  string
	}{
		"two machines":               {[]*host{reached(a, "x", "y"), reached(b, "z")}, ""},
		"one machine":                {[]*host{reached(a, "x", "y"), reached(b, "y", "x")}, "a and b both have GPU y: they are one machine"},
		"one machine, divided":       {[]*host{reached(only(a, 0), "x", "y"), reached(only(b, 1), "x", "y")}, ""},
		"one machine, not divided":   {[]*host{reached(only(a, 0, 1), "x", "y"), reached(only(b, 1), "x", "y")}, "a and b both have GPU y"},
		"UUIDs that are not known":   {[]*host{reached(a, ""), reached(b, "")}, ""},
		"a GPU that is not there":    {[]*host{reached(only(a, 0, 4), "x", "y")}, "a: expected one of GPUs 0-1, found GPU 4 in its list"},
		"no GPU":                     {[]*host{reached(only(a, 0))}, "a: expected no GPU, as there is none that the job may use, found GPU 0 in its list"},
		"a skipped GPU is not there": {[]*host{reached(hostfiles.Host{Name: "a", SkipGPUs: []int{2}}, "x")}, "a: expected one of GPUs 0, found GPU 2 in its list"},
	} {
		t.Run(name, func(t *testing.T) {
			err := errors.Join(checkGPUs(c.hosts)...)
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestAUserWhoChoosesGPUs(t *testing.T) {
	job := &Job{Apps: []App{{Args: []string{"true"}}}, Env: Env{Set: []string{"CUDA_VISIBLE_DEVICES=1"}}}
	p := &prepared{job: job}
	require.NoError(t, p.leaveGPUs())
	require.Equal(t, placement.NoGPUs, p.policy.GPUsPerRank)
	require.Len(t, p.warnings, 1)
	for _, policy := range []placement.Policy{
		{GPUsPerRank: 1}, {GPUVisible: placement.OwnVisible}, {MapBy: placement.ByGPU},
		{BindTo: placement.ToGPU}, {PerHost: placement.OnePerGPU},
	} {
		p := &prepared{job: job, policy: policy}
		require.ErrorContains(t, p.leaveGPUs(), "CUDA_VISIBLE_DEVICES", "%+v", policy)
	}
	job = &Job{Apps: []App{{}, {Env: []string{"CUDA_VISIBLE_DEVICES="}}}}
	p = &prepared{job: job}
	require.NoError(t, p.leaveGPUs())
	require.Equal(t, placement.NoGPUs, p.policy.GPUsPerRank, "one program of several is enough")
}
