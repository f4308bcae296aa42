package pmi

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
)

// ownLoopbackPeer tells whether the other end of a TCP connection within this
// host is held by a process of this user, or of root.
func ownLoopbackPeer(conn net.Conn) bool {
	peer, err := netip.ParseAddrPort(conn.RemoteAddr().String())
	if err != nil || !peer.Addr().IsLoopback() {
		return false
	}
	here, err := netip.ParseAddrPort(conn.LocalAddr().String())
	if err != nil {
		return false
	}
	table, err := os.Open("/proc/net/tcp")
	if err != nil {
		return false
	}
	defer table.Close()
	uid, ok := holder(table, peer, here)
	return ok && (uid == 0 || uid == os.Geteuid())
}

// holder finds in the kernel's table (proc_net(5), Documentation/networking/
// proc_net_tcp.rst) whose the end at local is of an established connection with
// remote. Other states do not count: the kernel gives an end that its process
// has closed to root.
func holder(table io.Reader, local, remote netip.AddrPort) (uid int, ok bool) {
	ends := [2]string{kernelAddr(local), kernelAddr(remote)}
	const established = "01"
	lines := bufio.NewScanner(table)
	for lines.Scan() {
		// sl local_address rem_address st queues timer retrnsmt uid …
		f := strings.Fields(lines.Text())
		if len(f) < 8 || f[1] != ends[0] || f[2] != ends[1] || f[3] != established {
			continue
		}
		uid, err := strconv.Atoi(f[7])
		return uid, err == nil
	}
	return 0, false
}

// kernelAddr writes an IPv4 address as that table does: the four bytes as a
// number of this machine.
func kernelAddr(a netip.AddrPort) string {
	ip := a.Addr().Unmap()
	if !ip.Is4() {
		return ""
	}
	b := ip.As4()
	return fmt.Sprintf("%08X:%04X", binary.NativeEndian.Uint32(b[:]), a.Port())
}
