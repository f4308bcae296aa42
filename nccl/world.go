package nccl

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"

	"github.com/gorun/gorun/rankenv"
	"github.com/gorun/gorun/rendezvous"
)

// This file is the only one that knows package rankenv and the job's own meeting place.

// openJob opens the meeting place of this process's job.
func openJob(ctx context.Context) (Bootstrap, func() error, error) {
	job, err := rendezvous.Open(ctx, nil)
	if err != nil {
		return nil, nil, err
	}
	return job, job.Close, nil
}

// world returns this process's place: as its meeting place knows it, else as
// the environment says.
func world(b Bootstrap) (rankenv.World, error) {
	if w, ok := b.(interface{ World() rankenv.World }); ok {
		return w.World(), nil
	}
	return rankenv.Current()
}

// hostName returns what this host is called in the plan of the job.
func hostName(b Bootstrap) string {
	if w, err := world(b); err == nil && w.Host != "" {
		return w.Host
	}
	name, _ := os.Hostname()
	return name
}

// rootAddr returns the address at which this host waits for size ranks, 0 if
// that is not known: the narrowest that all can reach.
func rootAddr(b Bootstrap, size int) (netip.Addr, error) {
	w, err := world(b)
	if err != nil {
		return netip.Addr{}, err
	}
	if w.Nodes == 1 && w.Size == size {
		return loopback, nil
	}
	if addr, ok := givenAddr(b); ok {
		return addr, nil
	}
	if w.Nodes == 1 {
		return loopback, nil
	}
	if w.Master != "" {
		// The master is this host or one that reaches it; either way the route
		// there begins at the right address.
		return routeTo(w.Master)
	}
	return netip.Addr{}, fmt.Errorf("%v: no address of this host is known, and the ranks are on %d hosts; set GORUN_ADDR", w, w.Nodes)
}

// rankAddr returns the address at which this rank waits for others, among ranks
// of the id that root answers.
func rankAddr(b Bootstrap, root netip.AddrPort) (netip.Addr, error) {
	if root.Addr().IsLoopback() {
		return root.Addr(), nil
	}
	if addr, ok := givenAddr(b); ok {
		return addr, nil
	}
	return routeTo(root.String())
}

var loopback = netip.AddrFrom4([4]byte{127, 0, 0, 1})

// givenAddr returns the address that the meeting place or the launcher gave this host.
func givenAddr(b Bootstrap) (addr netip.Addr, ok bool) {
	if a, is := b.(addresser); is && a.Addr().IsValid() {
		return a.Addr(), true
	}
	if w, err := world(b); err == nil && w.Addr != "" {
		addr, err := netip.ParseAddr(w.Addr)
		return addr, err == nil
	}
	return addr, false
}

// routeTo returns the address from which this host reaches host:port. It sends nothing.
func routeTo(hostPort string) (netip.Addr, error) {
	conn, err := net.Dial("udp", hostPort)
	if err != nil {
		return netip.Addr{}, fmt.Errorf("finding the way to %s: %w", hostPort, err)
	}
	defer conn.Close()
	return conn.LocalAddr().(*net.UDPAddr).AddrPort().Addr(), nil
}
