//go:build linux

package agent

import (
	"os"
	"runtime/debug"

	"github.com/gorun/gorun/launcher/wire"
	"github.com/gorun/gorun/nccl/topo"
)

// hello tells what this program and this host are. What CUDA_VISIBLE_DEVICES hides
// from whatever runs on this host, as a scheduler or the user has set it here, is
// hidden from the job too.
func (a *agent) hello() *wire.Hello {
	inventory := *a.inventory
	if value, ok := os.LookupEnv(visibleDevices); ok {
		inventory.Accelerators = topo.Visible(inventory.Accelerators, value)
	}
	return &wire.Hello{
		Magic:      wire.Magic,
		Table:      wire.TableHash(),
		Version:    version(),
		Machine:    machine(),
		Topo:       inventory,
		Interfaces: a.interfaces,
		FreePort:   a.ports.any(),
		HighPort:   a.ports.find(firstJAXPort, lastPort),
	}
}

// machine tells machines apart by the boot of their kernel, and containers on one
// machine, which are as good as hosts, by their namespaces (namespaces(7)).
func machine() string {
	boot := bootID()
	network, err := os.Readlink("/proc/self/ns/net")
	mounts, err2 := os.Readlink("/proc/self/ns/mnt")
	if boot == "" || err != nil || err2 != nil {
		return ""
	}
	return boot + " " + network + " " + mounts
}

func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	return info.Main.Version
}
