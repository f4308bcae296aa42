package bootstrap

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// portsVar names the range of ports, "40000-40099", in which ranks listen,
// where a firewall lets others pass; not set: any port that is free. A launcher
// sets it for all ranks of a job.
const portsVar = "GORUN_PORTS"

// listen starts a listener at addr, on a port that is free.
func listen(addr netip.Addr) (*net.TCPListener, error) {
	value := os.Getenv(portsVar)
	if value == "" {
		return net.ListenTCP("tcp", net.TCPAddrFromAddrPort(netip.AddrPortFrom(addr, 0)))
	}
	first, last, err := parsePorts(value)
	if err != nil {
		return nil, err
	}
	// Ranks of a host that begin at different ports seldom try the same.
	count := last - first + 1
	begin := rand.IntN(count)
	for i := range count {
		port := first + (begin+i)%count
		l, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(netip.AddrPortFrom(addr, uint16(port))))
		if !errors.Is(err, syscall.EADDRINUSE) {
			return l, err
		}
	}
	return nil, fmt.Errorf("every port of %s=%s is in use at %v", portsVar, value, addr)
}

func parsePorts(value string) (first, last int, err error) {
	a, b, _ := strings.Cut(value, "-")
	low, errLow := strconv.ParseUint(a, 10, 16)
	high, errHigh := strconv.ParseUint(b, 10, 16)
	if errLow != nil || errHigh != nil || low == 0 || high < low {
		return 0, 0, fmt.Errorf("%s: expected two port numbers from 1 to 65535, as 40000-40099, found %q", portsVar, value)
	}
	return int(low), int(high), nil
}
