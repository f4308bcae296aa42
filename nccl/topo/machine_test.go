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

// machine is the root folder of a host that a test makes, with the files in the
// form in which Linux 5.15 and NVIDIA's driver 580 write them.
type machine struct {
	t    testing.TB
	root string
}

func newMachine(t testing.TB) machine { return machine{t, t.TempDir()} }

func (m machine) file(name, content string) {
	path := filepath.Join(m.root, name)
	require.NoError(m.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(m.t, os.WriteFile(path, []byte(content+"\n"), 0o644))
}

func (m machine) link(name, target string) {
	path := filepath.Join(m.root, name)
	require.NoError(m.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(m.t, os.Symlink(target, path))
}

// processors makes packages of so many cores with so many hardware threads each,
// with one NUMA node and one L3 cache a package. As on Intel's machines, the first
// threads of all cores come before the second ones.
func (m machine) processors(packages, cores, threads int) {
	all := packages * cores
	for cpu := range all * threads {
		core := cpu % all
		first := core / cores * cores
		var siblings, socket []int
		for th := range threads {
			siblings = append(siblings, core+th*all)
			for c := first; c < first+cores; c++ {
				socket = append(socket, c+th*all)
			}
		}
		folder := fmt.Sprintf("sys/devices/system/cpu/cpu%d/", cpu)
		m.file(folder+"topology/thread_siblings_list", topo.FormatList(siblings))
		m.file(folder+"topology/core_siblings_list", topo.FormatList(socket))
		for index, level := range []string{"1", "1", "2", "3"} {
			shared := topo.FormatList(siblings)
			if level == "3" {
				shared = topo.FormatList(socket)
			}
			m.file(fmt.Sprintf("%scache/index%d/level", folder, index), level)
			m.file(fmt.Sprintf("%scache/index%d/shared_cpu_list", folder, index), shared)
		}
		m.file(fmt.Sprintf("sys/devices/system/node/node%d/cpulist", core/cores), topo.FormatList(socket))
	}
	nodes := "0"
	if packages > 1 {
		nodes = fmt.Sprintf("0-%d", packages-1)
	}
	m.file("sys/devices/system/node/has_cpu", nodes)
	m.file("sys/devices/system/cpu/smt/active", map[bool]string{false: "0", true: "1"}[threads > 1])
}

// device makes a PCI device at the end of a path such as
// "pci0000:00/0000:00:01.0/0000:0f:00.0" and returns its bus id.
func (m machine) device(path string, numa int) string {
	bus := filepath.Base(path)
	m.file("sys/devices/"+path+"/numa_node", fmt.Sprint(numa))
	m.link("sys/bus/pci/devices/"+bus, "../../../devices/"+path)
	return bus
}

// gpu makes a GPU of NVIDIA's.
func (m machine) gpu(path string, numa, minor int, uuid string) {
	bus := m.device(path, numa)
	m.file("proc/driver/nvidia/gpus/"+bus+"/information", strings.Join([]string{
		"Model: \t\t NVIDIA H200", "IRQ:   \t\t 41", "GPU UUID: \t " + uuid,
		"Video BIOS: \t 96.00.a5.00.1a", "Bus Type: \t PCIe", "Bus Location: \t " + bus,
		fmt.Sprintf("Device Minor: \t %d", minor), "GPU Excluded:\t No",
	}, "\n"))
	m.file(fmt.Sprintf("dev/nvidia%d", minor), "")
}

// adapter makes an RDMA device with one port.
func (m machine) adapter(name, path string, numa int, state, rate string) {
	m.device(path, numa)
	own := "sys/devices/" + path + "/infiniband/" + name
	m.file(own+"/ports/1/state", state)
	m.file(own+"/ports/1/rate", rate)
	m.link(own+"/device", "../..")
	m.link("sys/class/infiniband/"+name, "../../devices/"+path+"/infiniband/"+name)
}

// ethernet makes an interface whose device is at path, behind a function of its
// driver's such as virtio's.
func (m machine) ethernet(name, path, function string, numa int, state, speed string) {
	m.device(path, numa)
	own := "sys/devices/" + filepath.Join(path, function) + "/net/" + name
	m.file(own+"/operstate", state)
	m.file(own+"/speed", speed)
	m.link(own+"/device", "../..")
	m.link("sys/class/net/"+name, "../../devices/"+filepath.Join(path, function)+"/net/"+name)
}

// cpus are the numbers from first on.
func cpus(first, count int) (list []int) {
	for i := range count {
		list = append(list, first+i)
	}
	return list
}
