package topo

import (
	"path/filepath"
	"strconv"
	"strings"
)

// rdmaDevices lists the devices of the kernel's verbs: InfiniBand, RoCE and their
// like.
func (t *tree) rdmaDevices() []Adapter {
	const folder = "sys/class/infiniband"
	var list []Adapter
	for _, name := range t.names(folder) {
		device := filepath.Join(folder, name)
		a := Adapter{Name: bounded(name), RDMA: true, Location: t.locate(filepath.Join(device, "device"), t.link(device))}
		for _, port := range t.names(filepath.Join(device, "ports")) {
			state, _ := t.text(filepath.Join(device, "ports", port, "state")) // "4: ACTIVE"
			if !strings.HasSuffix(state, "ACTIVE") || strings.HasSuffix(state, "INACTIVE") {
				continue
			}
			a.Active = true
			rate, _ := t.text(filepath.Join(device, "ports", port, "rate")) // "400 Gb/sec (4X NDR)"
			gigabits, _, _ := strings.Cut(rate, " ")
			if f, err := strconv.ParseFloat(gigabits, 64); err == nil && f > 0 && f < 1e6 {
				a.Speed = max(a.Speed, int(f*1000))
			}
		}
		list = append(list, a)
	}
	return list
}

// interfaces lists the network interfaces that are devices: bridges, bonds, tunnels
// and loopback are not.
func (t *tree) interfaces() []Adapter {
	const folder = "sys/class/net"
	var list []Adapter
	for _, name := range t.names(folder) {
		device := filepath.Join(folder, name)
		link := t.link(device)
		if t.link(filepath.Join(device, "device")) == "" {
			continue
		}
		state, _ := t.text(filepath.Join(device, "operstate"))
		a := Adapter{Name: bounded(name), Active: state == "up", Location: t.locate(filepath.Join(device, "device"), link)}
		if a.Active {
			a.Speed = max(0, t.number(filepath.Join(device, "speed"), 0)) // -1: the driver does not know
		}
		list = append(list, a)
	}
	return list
}
