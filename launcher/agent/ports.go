//go:build linux

package agent

import (
	"fmt"
	"math/rand/v2"
	"os"

	"golang.org/x/sys/unix"

	"github.com/gorun/gorun/launcher/wire"
)

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

// findPorts finds a port for each of what is wanted, all different.
func findPorts(m *wire.FindPorts) *wire.FoundPorts {
	found := &wire.FoundPorts{}
	taken := map[int]bool{}
	for _, r := range m.Ranges {
		first, last := r.First, r.Last
		if first == 0 {
			first, last = firstPort, ephemeralPorts()-1
		}
		port := freePort(first, last, taken)
		taken[port] = true
		found.Ports = append(found.Ports, port)
	}
	return found
}

// freePort returns a TCP port from first to last that nothing listens on and
// that is not taken, 0 if none was found. Two jobs that start at once may choose
// alike, which is why the choice begins anywhere.
func freePort(first, last int, taken map[int]bool) int {
	count := last - first + 1
	if count < 1 {
		return 0
	}
	const attempts = 256
	begin := rand.IntN(count)
	for i := range min(count, attempts) {
		if port := first + (begin+i)%count; !taken[port] && canBind(port) {
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
