//go:build linux

package agent

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"github.com/gorun/gorun/launcher/wire"
)

// hello tells what this program and this host are.
func hello() *wire.Hello {
	name, _ := os.Hostname()
	return &wire.Hello{
		Magic:    wire.Magic,
		Table:    wire.TableHash(),
		Version:  version(),
		OS:       runtime.GOOS,
		Arch:     runtime.GOARCH,
		Hostname: name,
		CPUs:     runtime.NumCPU(), // of the affinity mask, which is what ranks may use
		Addrs:    addresses(),
		FreePort: freePort(),
		UID:      os.Getuid(),
		Clock:    time.Now().UnixNano(),
	}
}

func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	return info.Main.Version
}

// addresses lists the addresses of interfaces that are up, in the kernel's
// order but loopback last. Link-local ones need a zone, which means nothing
// elsewhere.
func addresses() []string {
	var outer, loop []string
	interfaces, err := net.Interfaces()
	if err != nil {
		return nil
	}
	for _, i := range interfaces {
		if i.Flags&net.FlagUp == 0 {
			continue
		}
		addrs, _ := i.Addrs()
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
	}
	return slices.Concat(outer, loop)
}

// freePort returns a TCP port that nothing listens on and that the kernel
// gives to no connection by itself, 0 if none was found. Two jobs that start
// at once may choose alike, which is why the choice is random.
func freePort() int {
	lowest := 32768 // Linux's default
	if b, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range"); err == nil {
		fmt.Sscan(string(b), &lowest)
	}
	const first = 10000 // below are services that people know by number
	if lowest <= first {
		return 0
	}
	for range 64 {
		port := first + rand.IntN(lowest-first)
		l, err := net.Listen("tcp", fmt.Sprintf(":%d", port))
		if err == nil {
			l.Close()
			return port
		}
	}
	return 0
}
