package launcher

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/launcher/wire"
	"github.com/gorun/gorun/nccl/topo"
)

func TestFitHostsPassThePreflight(t *testing.T) {
	job, _ := hosts(t, []int{1, 1, 1}, `echo $GORUN_RANK`)
	job.Preflight = true
	o := run(t, job)
	require.NoError(t, o.err)
	require.ElementsMatch(t, []string{"0", "1", "2"}, lines(o.stdout))
	require.Zero(t, countOf(o.events, HostFailed))
}

func TestAHostThatOthersDoNotReachIsReplaced(t *testing.T) {
	job, _ := hosts(t, []int{1, 1, 1}, `echo $GORUN_RANK $GORUN_HOST`)
	for i, addr := range []string{"127.0.0.2", "255.255.255.255", "127.0.0.4"} { // nothing can be sent there
		job.Hosts[i].Addr = addr
	}
	job.Preflight, job.Spares = true, 1
	var failed []string
	job.Events = func(e Event) {
		if e.Kind == HostFailed {
			failed = append(failed, e.Message)
		}
	}
	o := run(t, job)
	require.NoError(t, o.err)
	require.ElementsMatch(t, []string{"0 127.0.0.2", "1 127.0.0.4"}, lines(o.stdout))
	require.Len(t, failed, 1)
	require.Contains(t, failed[0], "pre-flight: 127.0.0.2 does not reach it at 255.255.255.255")
}

func TestJudge(t *testing.T) {
	const much = 1 << 40
	for name, c := range map[string]struct {
		adapter topo.Adapter
		found   wire.Examined
		want    string // "": fit
	}{
		"enough":                       {topo.Adapter{RDMA: true, Active: true}, wire.Examined{SharedMemory: much, LockedMemory: -1}, ""},
		"a container's shared memory":  {topo.Adapter{}, wire.Examined{SharedMemory: 64 << 20}, "expected 256 MiB free in /dev/shm, found 64"},
		"no shared memory":             {topo.Adapter{}, wire.Examined{}, "found 0"},
		"little to lock, and RDMA":     {topo.Adapter{RDMA: true, Active: true}, wire.Examined{SharedMemory: much, LockedMemory: 64 << 10}, "64 KiB of locked memory (ulimit -l)"},
		"little to lock, RDMA is down": {topo.Adapter{RDMA: true}, wire.Examined{SharedMemory: much, LockedMemory: 64 << 10}, ""},
		"little to lock, no RDMA":      {topo.Adapter{Active: true}, wire.Examined{SharedMemory: much, LockedMemory: 64 << 10}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			h := &host{hello: &wire.Hello{Topo: topo.Inventory{Adapters: []topo.Adapter{c.adapter}}}}
			if err := judge(h, &c.found); c.want == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, c.want)
			}
		})
	}
}

func TestJudgeClocks(t *testing.T) {
	const ms = time.Millisecond
	for name, c := range map[string]struct {
		offsets []time.Duration
		unsure  time.Duration
		unfit   []int
	}{
		"all alike":                      {[]time.Duration{0, ms, -ms}, ms, nil},
		"all are off, so it is ours":     {[]time.Duration{time.Hour, time.Hour, time.Hour + ms}, ms, nil},
		"one is behind":                  {[]time.Duration{0, -3 * time.Second, ms}, ms, []int{1}},
		"of two, that which ours denies": {[]time.Duration{time.Minute, 0}, ms, []int{0}},
		"as far as the trip was long":    {[]time.Duration{0, 3 * time.Second, 0}, 2 * time.Second, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var hosts []*host
			for _, offset := range c.offsets {
				hosts = append(hosts, &host{dates: clock{offset: offset, unsure: c.unsure, known: true}})
			}
			judgeClocks(hosts)
			require.Equal(t, c.unfit, unfit(hosts))
		})
	}
}

func TestJudgeGPUs(t *testing.T) {
	for name, c := range map[string]struct {
		counts []int
		unfit  []int
	}{
		"all alike":         {[]int{8, 8, 8}, nil},
		"none has any":      {[]int{0, 0}, nil},
		"one has lost one":  {[]int{8, 7, 8}, []int{1}},
		"one has none":      {[]int{8, 8, 0}, []int{2}},
		"of two, the fewer": {[]int{7, 8}, []int{0}},
	} {
		t.Run(name, func(t *testing.T) {
			var hosts []*host
			for _, n := range c.counts {
				hosts = append(hosts, &host{hello: &wire.Hello{Topo: topo.Inventory{Accelerators: make([]topo.Accelerator, n)}}})
			}
			judgeGPUs(hosts)
			require.Equal(t, c.unfit, unfit(hosts))
		})
	}
}

// unfit lists the hosts that did not pass.
func unfit(hosts []*host) (list []int) {
	for i, h := range hosts {
		if h.unfit != nil {
			list = append(list, i)
		}
	}
	return list
}
