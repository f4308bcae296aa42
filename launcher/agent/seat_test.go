//go:build linux

package agent

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/launcher/wire"
	"github.com/gorun/gorun/nccl/topo"
)

// seated is an agent of a host with three GPUs whose ranks have these seats.
func seated(m wire.Start, seats ...wire.Seat) *agent {
	var ranks []int
	for i := range seats {
		ranks = append(ranks, i)
	}
	m.Hosts = []wire.Host{{Name: "a", Ranks: ranks}}
	return &agent{
		start: &share{Start: &m, Begin: wire.Begin{Seats: seats}},
		inventory: &topo.Inventory{Accelerators: []topo.Accelerator{
			{Index: 0, UUID: "GPU-a"}, {Index: 1, UUID: "GPU-b"}, {Index: 2, UUID: "GPU-c"},
		}},
	}
}

func TestSeatEnv(t *testing.T) {
	all := []string{"GPU-a", "GPU-b", "GPU-c"}
	half, whole := wire.Seat{CPUs: []int{0, 1}}, wire.Seat{CPUs: []int{0, 1, 2, 3}}
	for name, c := range map[string]struct {
		agent     *agent
		env       []string
		inherited string // CUDA_VISIBLE_DEVICES of the agent; "": none
		want      []string
	}{
		"a thread for each CPU that it is bound to": {seated(wire.Start{}, half, whole), nil, "", []string{"OMP_NUM_THREADS=2"}},
		"shared with those bound to the same":       {seated(wire.Start{}, whole, whole, half), nil, "", []string{"OMP_NUM_THREADS=2"}},
		"the user's threads":                        {seated(wire.Start{}, half), []string{"OMP_NUM_THREADS=9"}, "", nil},
		"not wanted":                                {seated(wire.Start{Unset: []string{"OMP_*"}}, half), nil, "", nil},
		"all GPUs need no variable":                 {seated(wire.Start{}, wire.Seat{CPUs: half.CPUs, Visible: all}), nil, "", []string{"OMP_NUM_THREADS=2"}},
		"some do": {
			seated(wire.Start{}, wire.Seat{CPUs: half.CPUs, Visible: all[1:]}), nil, "",
			[]string{"OMP_NUM_THREADS=2", "CUDA_VISIBLE_DEVICES=GPU-b,GPU-c"},
		},
		"another order does": {
			seated(wire.Start{}, wire.Seat{CPUs: half.CPUs, Visible: []string{"GPU-c", "GPU-b", "GPU-a"}}), nil, "0",
			[]string{"OMP_NUM_THREADS=2", "CUDA_VISIBLE_DEVICES=GPU-c,GPU-b,GPU-a"},
		},
		"what this host was told stays": {seated(wire.Start{}, half), nil, "1", []string{"OMP_NUM_THREADS=2", "CUDA_VISIBLE_DEVICES=1"}},
		"but for what the user chose":   {seated(wire.Start{}, half), []string{"CUDA_VISIBLE_DEVICES=0"}, "1", []string{"OMP_NUM_THREADS=2"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(visibleDevices, c.inherited)
			if c.inherited == "" {
				os.Unsetenv(visibleDevices)
			}
			require.Equal(t, c.want, c.agent.seatEnv(c.env, c.agent.seat(0)))
		})
	}
	a := seated(wire.Start{})
	a.start.Hosts[0].Ranks = []int{0}
	require.NotEmpty(t, a.seatEnv(nil, a.seat(0)), "a launcher that seats nobody")
}

func TestPlaceEnv(t *testing.T) {
	own := &share{Start: &wire.Start{}, Begin: wire.Begin{
		Seats: []wire.Seat{{Visible: []string{"GPU-a"}}}, NICs: []string{"mlx5_0", "mlx5_2"},
	}}
	require.Equal(t, []string{"CUDA_DEVICE_ORDER=PCI_BUS_ID", "NCCL_IB_HCA==mlx5_0,mlx5_2"},
		placeEnv([]string{"CUDA_DEVICE_ORDER=FASTEST_FIRST"}, own), "numbers are ours to give")
	require.Equal(t, []string{"NCCL_IB_HCA=mlx5_1", "CUDA_DEVICE_ORDER=PCI_BUS_ID"},
		placeEnv([]string{"NCCL_IB_HCA=mlx5_1"}, own), "the user's adapters")
	own.Unset = []string{"NCCL_IB_HCA"}
	require.Equal(t, []string{"CUDA_DEVICE_ORDER=PCI_BUS_ID"}, placeEnv(nil, own))
	own.Seats = []wire.Seat{{CPUs: []int{0}}}
	require.Empty(t, placeEnv(nil, own), "no GPUs")
}

func TestHelloHidesWhatIsHiddenHere(t *testing.T) {
	a := seated(wire.Start{})
	t.Setenv(visibleDevices, "2,GPU-a")
	var uuids []string
	for _, g := range a.hello().Topo.Accelerators {
		uuids = append(uuids, g.UUID)
	}
	require.Equal(t, []string{"GPU-c", "GPU-a"}, uuids)
	require.Len(t, a.inventory.Accelerators, 3)
	t.Setenv(visibleDevices, "")
	require.Empty(t, a.hello().Topo.Accelerators)
}

// allowedIn starts a program on the calling thread and returns the CPUs that it
// had.
func allowedIn(n *nursery, file string, cpus []int) (list string, err error) {
	ended := make(chan syscall.WaitStatus, 1)
	_, err = n.Start("/bin/cp", []string{"cp", "/proc/self/status", file}, &syscall.ProcAttr{}, cpus, func(s syscall.WaitStatus) { ended <- s })
	if err != nil {
		return "", err
	}
	<-ended
	status, err := os.ReadFile(file)
	_, list, _ = strings.Cut(string(status), "Cpus_allowed_list:\t")
	list, _, _ = strings.Cut(list, "\n")
	return list, err
}

func TestNurseryBindsAndGoesOnUnbound(t *testing.T) {
	all := affinity()
	require.NotEmpty(t, all)
	const none = maxCPUs - 1 // no machine has it
	steps := []struct {
		cpus []int
		want string // "": it cannot be bound to those
	}{
		{all[:1], topo.FormatList(all[:1])},
		{nil, topo.FormatList(all)},
		{[]int{none}, ""},
		{nil, topo.FormatList(all)},
		{[]int{all[0], none}, ""},
		{all[len(all)-1:], topo.FormatList(all[len(all)-1:])},
		{nil, topo.FormatList(all)},
	}
	file := filepath.Join(t.TempDir(), "status")
	lists, errs := make([]string, len(steps)), make([]error, len(steps))
	n := newNursery()
	n.Each(1, func(int) bool { // on one thread, so that each step finds what the last one left
		for i, s := range steps {
			lists[i], errs[i] = allowedIn(n, file, s.cpus)
		}
		return true
	})
	n.Close()
	for i, s := range steps {
		require.Equal(t, s.want, lists[i])
		if s.want != "" {
			require.NoError(t, errs[i])
			continue
		}
		require.ErrorAs(t, errs[i], new(*bindError))
		m := notStarted(0, "p", errs[i])
		require.Contains(t, m.Error, "bind it to CPUs ")
		require.Contains(t, m.Hint, "--bind-to none")
		require.True(t, m.Exhausted, "the host is to blame, not the program")
	}
}
