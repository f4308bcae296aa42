// Package topo tells what a host is made of: the processors that a job may use
// there, its GPUs and its network adapters, and which of them are near each
// other. [Scan] makes an [Inventory] of what the Linux kernel shows below /sys and
// /proc; all else computes.
//
// # Numbers
//
// Nothing is renumbered. CPUs, NUMA nodes and devices have the numbers and names by
// which the kernel's own files and tools such as taskset, numactl and nvidia-smi
// know them. A core, an L3 domain and a package have no number that is unique on
// every machine, so each is called by the lowest CPU in it. A number that the
// kernel does not tell is -1.
//
// GPUs are ordered by PCI bus id, which is CUDA's order only under
// CUDA_DEVICE_ORDER=PCI_BUS_ID: by default CUDA puts what it takes for the fastest
// device first.
//
// # Failure
//
// A host without a file has nothing to say, as a container without /sys does. What
// cannot be read is unknown; it is never an error.
//
// # Cost
//
// A scan is part of every job's start. The kernel makes these files up as they are
// read, a few microseconds each, so one CPU is asked for all that share its core,
// cache or package, and adapters are looked at only where there is a GPU that
// could use them.
package topo
