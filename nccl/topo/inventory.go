package topo

// Inventory is what a host is made of, as far as a job may use it. Its slices
// belong to whoever has it.
type Inventory struct {
	Threads      []Thread      // ascending
	Accelerators []Accelerator // by Index
	Adapters     []Adapter     // RDMA devices before interfaces, each by name
}

// Thread is a hardware thread, which the kernel calls a CPU. Core, L3 and Package
// are the lowest CPU that shares them, used by the job or not.
type Thread struct {
	CPU     int
	Core    int // CPU itself where that is not known
	L3      int // -1: not known, or there is no such cache
	NUMA    int // node; -1: not known
	Package int // -1: not known
}

// Accelerator is a GPU.
type Accelerator struct {
	Index int    // among the GPUs of the host, by PCI bus id
	UUID  string // "GPU-5a2c…"; "": the driver has not asked the device yet
	Model string // "NVIDIA H200"
	Location
}

// Adapter is a network adapter: an RDMA device or a physical network interface.
type Adapter struct {
	Name   string // "mlx5_0" or "eth0"
	RDMA   bool   // it is of /sys/class/infiniband
	Active bool   // a port is up
	Speed  int    // Mb/s of its fastest port that is up; 0: not known
	Location
}

// Location is where a device is plugged in.
type Location struct {
	Bus  string // PCI bus id, "0000:0f:00.0"; "": not known, or no PCI device
	Path string // root bus, bridges and device, "pci0000:0c/0000:0c:01.0/0000:0f:00.0"; "": not known
	NUMA int    // node; -1: not known
}

// Limits of an inventory, so that it stays small in a message whatever the files
// say. Linux has at most 8192 CPUs (NR_CPUS of its largest configurations).
const (
	maxCPUs    = 8192
	maxDevices = 256 // of a kind
	maxText    = 256 // bytes of a name or a path
)
