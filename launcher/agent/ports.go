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
	// enoughPorts is a range to choose from.
	enoughPorts = 256
)

// ports finds TCP ports that programs of the job will listen on, and claims each
// until the job has ended: that a port is free now does not say that another job
// has not found it too.
//
// A claim is an abstract UNIX socket (unix(7)) named after the port. Such names
// belong to the network namespace, as ports do, go with the process that holds
// them, and keep no program from the port itself.
type ports struct {
	first, last int   // where they are looked for unless it is said
	claims      []int // sockets
}

func newPorts() ports {
	low, high := 32768, 60999 // Linux's defaults
	if b, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range"); err == nil {
		fmt.Sscan(string(b), &low, &high)
	}
	return outside(low, high)
}

// outside returns ports that the kernel does not give to connections by itself,
// given those that it does. On a host where these are nearly all, a few of them
// are in use at a time.
func outside(low, high int) ports {
	switch {
	case low-firstPort >= enoughPorts:
		return ports{first: firstPort, last: low - 1}
	case lastPort-high >= enoughPorts:
		return ports{first: high + 1, last: lastPort}
	}
	return ports{first: firstPort, last: lastPort}
}

// answer finds a port for each of what is wanted.
func (p *ports) answer(m *wire.FindPorts) *wire.FoundPorts {
	found := &wire.FoundPorts{}
	for _, r := range m.Ranges {
		if r.First == 0 {
			r = wire.PortRange{First: p.first, Last: p.last}
		}
		found.Ports = append(found.Ports, p.find(r.First, r.Last))
	}
	return found
}

// any finds a port that nothing asks to be a certain one.
func (p *ports) any() int { return p.find(p.first, p.last) }

// find returns a TCP port from first to last that nothing listens on and no job
// has claimed, 0 if none was found. It claims the port.
func (p *ports) find(first, last int) int {
	count := last - first + 1
	if count < 1 {
		return 0
	}
	begin := rand.IntN(count) // who begins alike finds the same ports claimed
	for i := range min(count, enoughPorts) {
		port := first + (begin+i)%count
		claim, err := claimPort(port)
		if err != nil {
			continue
		}
		if canBind(port) {
			p.claims = append(p.claims, claim)
			return port
		}
		unix.Close(claim)
	}
	return 0
}

// close gives up all claims.
func (p *ports) close() {
	for _, claim := range p.claims {
		unix.Close(claim)
	}
	p.claims = nil
}

// claimPort takes the name by which a port is known to be a job's.
func claimPort(port int) (fd int, err error) {
	fd, err = unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: fmt.Sprintf("@gorun-port-%d", port)}); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
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
