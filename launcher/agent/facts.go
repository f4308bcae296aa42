//go:build linux

package agent

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"runtime/debug"
	"slices"

	"golang.org/x/sys/unix"

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
		Magic:    wire.Magic,
		Table:    wire.TableHash(),
		Version:  version(),
		Topo:     inventory,
		Addrs:    addresses(),
		FreePort: freePort(firstPort, ephemeralPorts()-1),
		HighPort: freePort(firstJAXPort, lastPort),
	}
}

func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	return info.Main.Version
}

// addresses lists the host's addresses in the kernel's order, but loopback
// last. Link-local ones need a zone, which means nothing elsewhere. It does
// not ask net.Interfaces which of them are up: that takes fifty times as long,
// and every start of a job would pay.
func addresses() []string {
	var outer, loop []string
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	for _, a := range addrs {
		ip, ok := a.(*net.IPNet)
		switch {
		case !ok || ip.IP.IsLinkLocalUnicast():
		case ip.IP.IsLoopback():
			loop = append(loop, ip.IP.String())
		default:
			outer = append(outer, ip.IP.String())
		}
	}
	return slices.Concat(outer, loop)
}

// Ports that the kernel gives to no connection by itself, usually.
const (
	firstPort = 10000 // below are services that people know by number
	lastPort  = 1<<16 - 1
	// firstJAXPort: jax/_src/clusters/ompi_cluster.py makes the port of a job
	// number, modulo 4096, from here on.
	firstJAXPort = 61440
)

// ephemeralPorts returns the first port that the kernel gives away by itself.
func ephemeralPorts() int {
	lowest := 32768 // Linux's default
	if b, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range"); err == nil {
		fmt.Sscan(string(b), &lowest)
	}
	return lowest
}

// freePort returns a TCP port from first to last that nothing listens on, 0 if
// none was found. Two jobs that start at once may choose alike, which is why
// the choice is random.
func freePort(first, last int) int {
	if last < first {
		return 0
	}
	for range 64 {
		if port := first + rand.IntN(last-first+1); canBind(port) {
			return port
		}
	}
	return 0
}

// canBind says whether a port is free for TCP on every address, of IPv6 and
// IPv4 alike where the kernel has both.
func canBind(port int) bool {
	var any unix.Sockaddr = &unix.SockaddrInet6{Port: port}
	fd, err := unix.Socket(unix.AF_INET6, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		any = &unix.SockaddrInet4{Port: port}
		if fd, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0); err != nil {
			return false
		}
	}
	defer unix.Close(fd)
	return unix.Bind(fd, any) == nil
}
