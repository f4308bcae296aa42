package topo_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/nccl/topo"
)

// threadsOf scans a machine for the CPUs alone.
func threadsOf(m machine, allowed []int) []topo.Thread {
	return topo.Scan(m.root, allowed).Threads
}

func TestThreads(t *testing.T) {
	t.Run("two packages with hyper-threads", func(t *testing.T) {
		m := newMachine(t)
		m.processors(2, 2, 2)
		require.Equal(t, []topo.Thread{
			{CPU: 0, Core: 0, L3: 0, NUMA: 0, Package: 0},
			{CPU: 1, Core: 1, L3: 0, NUMA: 0, Package: 0},
			{CPU: 2, Core: 2, L3: 2, NUMA: 1, Package: 2},
			{CPU: 3, Core: 3, L3: 2, NUMA: 1, Package: 2},
			{CPU: 4, Core: 0, L3: 0, NUMA: 0, Package: 0},
			{CPU: 5, Core: 1, L3: 0, NUMA: 0, Package: 0},
			{CPU: 6, Core: 2, L3: 2, NUMA: 1, Package: 2},
			{CPU: 7, Core: 3, L3: 2, NUMA: 1, Package: 2},
		}, threadsOf(m, cpus(0, 8)))
	})
	t.Run("second threads only keep the core's name", func(t *testing.T) {
		m := newMachine(t)
		m.processors(2, 2, 2)
		require.Equal(t, []topo.Thread{
			{CPU: 4, Core: 0, L3: 0, NUMA: 0, Package: 0},
			{CPU: 7, Core: 3, L3: 2, NUMA: 1, Package: 2},
		}, threadsOf(m, []int{7, 4, 7}))
	})
	t.Run("a container with one CPU", func(t *testing.T) {
		m := newMachine(t)
		m.processors(1, 8, 1)
		require.Equal(t, []topo.Thread{{CPU: 5, Core: 5, L3: 0, NUMA: 0, Package: 0}}, threadsOf(m, []int{5}))
	})
	t.Run("no NUMA, no caches", func(t *testing.T) {
		m := newMachine(t)
		m.processors(1, 2, 1)
		require.NoError(t, os.RemoveAll(filepath.Join(m.root, "sys/devices/system/node")))
		for _, cpu := range []string{"cpu0", "cpu1"} {
			require.NoError(t, os.RemoveAll(filepath.Join(m.root, "sys/devices/system/cpu", cpu, "cache")))
		}
		require.Equal(t, []topo.Thread{
			{CPU: 0, Core: 0, L3: -1, NUMA: -1, Package: 0},
			{CPU: 1, Core: 1, L3: -1, NUMA: -1, Package: 0},
		}, threadsOf(m, cpus(0, 2)))
	})
	t.Run("a kernel that does not tell whether threads share cores", func(t *testing.T) {
		m := newMachine(t)
		m.processors(1, 2, 2)
		require.NoError(t, os.RemoveAll(filepath.Join(m.root, "sys/devices/system/cpu/smt")))
		require.Equal(t, 1, threadsOf(m, cpus(0, 4))[3].Core)
	})
	t.Run("no files", func(t *testing.T) {
		require.Equal(t, []topo.Thread{{CPU: 3, Core: 3, L3: -1, NUMA: -1, Package: -1}}, threadsOf(newMachine(t), []int{3}))
	})
	t.Run("files that say nonsense", func(t *testing.T) {
		m := newMachine(t)
		m.file("sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "0-99999")
		m.file("sys/devices/system/cpu/cpu0/topology/core_siblings_list", "7")
		m.file("sys/devices/system/cpu/cpu0/cache/index0/level", "three")
		m.file("sys/devices/system/node/has_cpu", "-1")
		m.file("sys/devices/system/node/online", "1-0")
		require.Equal(t, []topo.Thread{{CPU: 0, Core: 0, L3: -1, NUMA: -1, Package: -1}}, threadsOf(m, []int{0}))
	})
	t.Run("CPUs that cannot be", func(t *testing.T) {
		require.Nil(t, threadsOf(newMachine(t), []int{-1, 8192}))
	})
}

// The bus ids, not the numbers of the device files, decide which GPU is the first.
func TestAcceleratorsComeByBusID(t *testing.T) {
	m := newMachine(t)
	m.gpu("pci10000:00/10000:00:01.0/10000:01:00.0", 3, 0, "GPU-d")
	m.gpu("pci0000:80/0000:80:01.0/0000:9f:00.0", 2, 3, "GPU-c")
	m.gpu("pci0000:0c/0000:0c:01.0/0000:0f:00.0", 1, 2, "GPU-b")
	m.gpu("pci0000:00/0000:00:06.0", -1, 1, "GPU-????????-????-????-????-????????????")
	require.Equal(t, []topo.Accelerator{
		{Index: 0, Model: "NVIDIA H200", Location: topo.Location{Bus: "0000:00:06.0", Path: "pci0000:00/0000:00:06.0", NUMA: -1}},
		{Index: 1, UUID: "GPU-b", Model: "NVIDIA H200", Location: topo.Location{Bus: "0000:0f:00.0", Path: "pci0000:0c/0000:0c:01.0/0000:0f:00.0", NUMA: 1}},
		{Index: 2, UUID: "GPU-c", Model: "NVIDIA H200", Location: topo.Location{Bus: "0000:9f:00.0", Path: "pci0000:80/0000:80:01.0/0000:9f:00.0", NUMA: 2}},
		{Index: 3, UUID: "GPU-d", Model: "NVIDIA H200", Location: topo.Location{Bus: "10000:01:00.0", Path: "pci10000:00/10000:00:01.0/10000:01:00.0", NUMA: 3}},
	}, topo.Scan(m.root, nil).Accelerators)
}

func TestAcceleratorsThatCannotBeUsedAreLeftOut(t *testing.T) {
	m := newMachine(t)
	for i, path := range []string{"pci0000:00/0000:00:01.0", "pci0000:00/0000:00:02.0", "pci0000:00/0000:00:03.0"} {
		m.gpu(path, 0, i, "GPU-"+path[len(path)-4:])
	}
	uuids := func() (list []string) {
		for _, g := range topo.Scan(m.root, nil).Accelerators {
			list = append(list, g.UUID)
		}
		return list
	}
	require.Equal(t, []string{"GPU-01.0", "GPU-02.0", "GPU-03.0"}, uuids())

	require.NoError(t, os.Remove(filepath.Join(m.root, "dev/nvidia0")))
	require.Equal(t, []string{"GPU-02.0", "GPU-03.0"}, uuids(), "a container has the device files of its own GPUs")

	m.file("proc/driver/nvidia/gpus/0000:00:02.0/information", "GPU UUID: GPU-02.0\nDevice Minor: 1\nGPU Excluded:\t Yes")
	require.Equal(t, []string{"GPU-03.0"}, uuids(), "the administrator excluded one")

	require.NoError(t, os.RemoveAll(filepath.Join(m.root, "dev")))
	require.Equal(t, []string{"GPU-01.0", "GPU-03.0"}, uuids(), "the driver was never used, so it made no device files")
}

func TestAdapters(t *testing.T) {
	m := newMachine(t)
	m.adapter("mlx5_1", "pci0000:0c/0000:0c:01.0/0000:0e:00.0", 0, "4: ACTIVE", "400 Gb/sec (4X NDR)")
	m.adapter("mlx5_0", "pci0000:80/0000:80:01.0/0000:81:00.0", 1, "1: DOWN", "10 Gb/sec (4X)")
	m.ethernet("eth0", "pci0000:00/0000:00:03.0", "virtio2", -1, "up", "-1")
	m.ethernet("ens1", "pci0000:00/0000:00:04.0", "", 0, "down", "100000")
	m.ethernet("ens2", "pci0000:00/0000:00:05.0", "", 0, "up", "25000")
	m.link("sys/class/net/lo", "../../devices/virtual/net/lo")
	m.file("sys/devices/virtual/net/lo/operstate", "unknown")
	require.Empty(t, topo.Scan(m.root, nil).Adapters, "nothing here could use them")

	m.gpu("pci0000:00/0000:00:06.0", -1, 0, "GPU-a")
	require.Equal(t, []topo.Adapter{
		{Name: "mlx5_0", RDMA: true, Location: topo.Location{Bus: "0000:81:00.0", Path: "pci0000:80/0000:80:01.0/0000:81:00.0", NUMA: 1}},
		{Name: "mlx5_1", RDMA: true, Active: true, Speed: 400_000, Location: topo.Location{Bus: "0000:0e:00.0", Path: "pci0000:0c/0000:0c:01.0/0000:0e:00.0", NUMA: 0}},
		{Name: "ens1", Location: topo.Location{Bus: "0000:00:04.0", Path: "pci0000:00/0000:00:04.0", NUMA: 0}},
		{Name: "ens2", Active: true, Speed: 25_000, Location: topo.Location{Bus: "0000:00:05.0", Path: "pci0000:00/0000:00:05.0", NUMA: 0}},
		{Name: "eth0", Active: true, Location: topo.Location{Bus: "0000:00:03.0", Path: "pci0000:00/0000:00:03.0", NUMA: -1}},
	}, topo.Scan(m.root, nil).Adapters)
}

// An inventory travels in a message, whatever a machine says of itself.
func TestInventoriesAreBounded(t *testing.T) {
	m := newMachine(t)
	m.gpu("pci0000:00/0000:00:06.0", 0, 0, "GPU-"+strings.Repeat("a", 1000))
	for i := range 300 {
		name := fmt.Sprintf("eth%03d", i)
		m.file("sys/devices/virtual/net/"+name+"/operstate", "up")
		m.link("sys/devices/virtual/net/"+name+"/device", "..")
		m.link("sys/class/net/"+name, "../../devices/virtual/net/"+name)
	}
	inv := topo.Scan(m.root, cpus(0, 9000))
	require.Len(t, inv.Threads, 8192)
	require.Len(t, inv.Adapters, 256)
	require.Len(t, inv.Accelerators[0].UUID, 256)
}

// What this machine says of itself is consistent, whatever it is.
func TestScanOfThisMachine(t *testing.T) {
	if _, err := os.Stat("/sys/devices/system/cpu/cpu0/topology"); err != nil {
		t.Skip("no /sys here: ", err)
	}
	inv := topo.Scan("/", []int{0})
	require.Len(t, inv.Threads, 1)
	th := inv.Threads[0]
	require.Equal(t, topo.Thread{CPU: 0, Core: 0, Package: 0, L3: th.L3, NUMA: th.NUMA}, th, "CPU 0 is the lowest of its groups")
	for i, g := range inv.Accelerators {
		require.Equal(t, i, g.Index)
		require.NotEmpty(t, g.Bus)
	}
}

// BenchmarkScan is what an agent's start pays on the largest host that is common.
func BenchmarkScan(b *testing.B) {
	m := newMachine(b)
	m.processors(2, 64, 2)
	allowed := cpus(0, 256)
	for b.Loop() {
		topo.Scan(m.root, allowed)
	}
}
