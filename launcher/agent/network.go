//go:build linux

package agent

import (
	"encoding/binary"
	"net/netip"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/gorun/gorun/launcher/wire"
)

// interfaces lists the host's interfaces that have addresses, in the kernel's
// order. It asks for names by index: net.Interfaces, which has the kernel tell
// all it knows of every interface, takes fifty times as long, and every start
// of a job would pay.
func interfaces() []wire.Interface {
	rib, err := syscall.NetlinkRIB(syscall.RTM_GETADDR, syscall.AF_UNSPEC)
	if err != nil {
		return nil
	}
	messages, err := syscall.ParseNetlinkMessage(rib)
	if err != nil {
		return nil
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		if fd, err = unix.Socket(unix.AF_INET6, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0); err != nil {
			return nil
		}
	}
	defer unix.Close(fd)
	var list []wire.Interface
	at := map[uint32]int{} // by the kernel's index
	for _, m := range messages {
		index, prefix, ok := addressOf(&m)
		if !ok {
			continue
		}
		i, known := at[index]
		if !known {
			named, ok := describeInterface(fd, index)
			if !ok {
				continue
			}
			i = len(list)
			at[index] = i
			list = append(list, named)
		}
		list[i].Addrs = append(list[i].Addrs, prefix.String())
	}
	return list
}

// interfaceOf returns the name of the interface that has an address, "" if none
// has. All of 127.0.0.0/8 is the loopback interface's, which has one of it.
func interfaceOf(list []wire.Interface, addr string) string {
	wanted, err := netip.ParseAddr(addr)
	if err != nil {
		return ""
	}
	for _, i := range list {
		for _, a := range i.Addrs {
			own, err := netip.ParsePrefix(a)
			if err == nil && (own.Addr() == wanted || wanted.IsLoopback() && own.Contains(wanted)) {
				return i.Name
			}
		}
	}
	return ""
}

// addressOf returns the address that a message tells, if it can be used, and the
// kernel's index of its interface.
func addressOf(m *syscall.NetlinkMessage) (index uint32, prefix netip.Prefix, ok bool) {
	if m.Header.Type != syscall.RTM_NEWADDR || len(m.Data) < unix.SizeofIfAddrmsg {
		return 0, netip.Prefix{}, false
	}
	// struct ifaddrmsg of rtnetlink(7): family, length of the prefix, flags,
	// scope, index.
	length, flags, index := int(m.Data[1]), m.Data[2], binary.NativeEndian.Uint32(m.Data[4:])
	attributes, err := syscall.ParseNetlinkRouteAttr(m)
	if err != nil || flags&(unix.IFA_F_TENTATIVE|unix.IFA_F_DADFAILED|unix.IFA_F_DEPRECATED) != 0 {
		return 0, netip.Prefix{}, false
	}
	var addr netip.Addr
	for _, a := range attributes {
		// Of a point-to-point link IFA_ADDRESS is the other end.
		if a.Attr.Type == syscall.IFA_LOCAL || a.Attr.Type == syscall.IFA_ADDRESS && !addr.IsValid() {
			addr, _ = netip.AddrFromSlice(a.Value)
		}
	}
	prefix = netip.PrefixFrom(addr, length)
	return index, prefix, prefix.IsValid()
}

// describeInterface asks for the name of an interface and whether it carries
// anything. A bridge with nothing attached to it does not.
func describeInterface(fd int, index uint32) (wire.Interface, bool) {
	request, err := unix.NewIfreq("-")
	if err != nil {
		return wire.Interface{}, false
	}
	request.SetUint32(index)
	if err := unix.IoctlIfreq(fd, unix.SIOCGIFNAME, request); err != nil {
		return wire.Interface{}, false
	}
	i := wire.Interface{Name: request.Name()}
	if err := unix.IoctlIfreq(fd, unix.SIOCGIFFLAGS, request); err == nil {
		const working = unix.IFF_UP | unix.IFF_RUNNING
		i.Up = request.Uint16()&working == working
	}
	return i, true
}
