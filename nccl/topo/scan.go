package topo

import "path/filepath"

// Scan makes an inventory of the host whose root folder is root, which is "/" but
// in tests. allowed are the CPUs that the job may use, in any order, those of the
// affinity mask; others are left out. So are GPUs that are there but closed to this
// process.
//
// Adapters are listed only where there is a GPU. Scan blocks for no longer than the
// kernel takes for its own files, and returns what it could read.
func Scan(root string, allowed []int) *Inventory {
	t := newTree(root)
	inv := &Inventory{
		Threads:      t.threads(allowed),
		Accelerators: t.accelerators(),
	}
	if len(inv.Accelerators) > 0 {
		inv.Adapters = append(t.rdmaDevices(), t.interfaces()...)
	}
	return inv
}

// locate completes the location of a device from its folder below /sys, given its
// link there: "../../devices/pci0000:00/0000:00:03.0/virtio2/net/eth0".
func (t *tree) locate(folder, link string) Location {
	loc := Location{NUMA: t.number(filepath.Join(folder, "numa_node"), -1)}
	loc.Path = pciPath(link)
	if loc.Path != "" {
		loc.Bus = filepath.Base(loc.Path)
	}
	return loc
}
