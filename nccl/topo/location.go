package topo

import "strings"

// pciPath cuts the PCI part out of a link to a device's folder: from
// "../../devices/pci0000:00/0000:00:03.0/virtio2/net/eth0" the first two names
// below devices. What comes before the root bus differs between machines.
func pciPath(link string) string {
	var path []string
	for name := range strings.SplitSeq(bounded(link), "/") {
		switch {
		case len(path) == 0 && strings.HasPrefix(name, "pci"), len(path) > 0 && isBus(name):
			path = append(path, name)
		case len(path) > 0:
			return strings.Join(path, "/")
		}
	}
	return strings.Join(path, "/")
}

// isBus reports whether s is a PCI bus id.
func isBus(s string) bool {
	domain, rest, ok := strings.Cut(s, ":")
	return ok && len(domain) >= 4 && len(rest) == len("00:00.0") && rest[2] == ':' && rest[5] == '.' &&
		strings.Trim(domain+rest, "0123456789abcdefABCDEF:.") == ""
}

// Distances that weigh more than any number of bridges.
const (
	acrossRoot = 1000 * (1 + iota) // over the host bridge, within one root bus
	acrossRoots
	acrossNodes
)

// Distance tells how far another device is, in steps that mean nothing but that
// fewer are nearer: fewer bridges under a common one, then the same root bus, then
// the same NUMA node, or one that is not known, then another node.
func (l Location) Distance(m Location) int {
	a, b := strings.Split(l.Path, "/"), strings.Split(m.Path, "/")
	common := 0
	for common < min(len(a), len(b)) && a[common] == b[common] && a[common] != "" {
		common++
	}
	switch {
	case common > 1:
		return len(a) + len(b) - 2*common
	case common == 1:
		return acrossRoot
	case l.NUMA < 0 || m.NUMA < 0 || l.NUMA == m.NUMA:
		return acrossRoots
	}
	return acrossNodes
}
