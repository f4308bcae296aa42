package topo

import (
	"cmp"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// accelerators lists the GPUs that NVIDIA's driver has and this process may open.
func (t *tree) accelerators() []Accelerator {
	const folder = "proc/driver/nvidia/gpus"
	type gpu struct {
		Accelerator
		node access
	}
	var gpus []gpu
	for _, bus := range t.names(folder) {
		about, ok := t.text(filepath.Join(folder, bus, "information"))
		if !ok {
			continue
		}
		facts := properties(about)
		if facts["GPU Excluded"] == "Yes" { // by the administrator
			continue
		}
		g := gpu{node: t.access("dev/nvidia" + facts["Device Minor"])}
		g.Model, g.UUID = bounded(facts["Model"]), bounded(facts["GPU UUID"])
		if strings.Contains(g.UUID, "?") {
			g.UUID = "" // the driver asks the device when it is opened first
		}
		pci := filepath.Join("sys/bus/pci/devices", strings.ToLower(bus))
		g.Location = t.locate(pci, t.link(pci))
		g.Bus = bounded(strings.ToLower(bus))
		gpus = append(gpus, g)
	}
	// A container may see all GPUs here, but have the device files of its own only;
	// before the driver was first used nobody has any.
	some := slices.ContainsFunc(gpus, func(g gpu) bool { return g.node != missing })
	gpus = slices.DeleteFunc(gpus, func(g gpu) bool { return g.node == denied || some && g.node == missing })
	slices.SortFunc(gpus, func(a, b gpu) int { return compareBus(a.Bus, b.Bus) })
	var list []Accelerator
	for i, g := range gpus {
		g.Index = i
		list = append(list, g.Accelerator)
	}
	return list
}

// properties reads lines such as "Model: \t\t NVIDIA H200".
func properties(text string) map[string]string {
	facts := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(line, ":"); ok {
			facts[strings.TrimSpace(name)] = strings.TrimSpace(value)
		}
	}
	return facts
}

// access says whether a device file could be opened.
type access int

const (
	missing access = iota
	denied
	granted
)

// access asks without opening, which would wake the device up. The answer takes
// the device rules of cgroups into account.
func (t *tree) access(name string) access {
	const readWrite = 0x2 | 0x4 // R_OK|W_OK of access(2)
	switch err := syscall.Access(filepath.Join(t.root, name), readWrite); {
	case err == nil:
		return granted
	case errors.Is(err, fs.ErrNotExist):
		return missing
	}
	return denied
}

// compareBus orders PCI bus ids, whose domain has four digits or more:
// "0000:0f:00.0", "10000:01:00.0".
func compareBus(a, b string) int {
	number := func(bus string) uint64 {
		n, _ := strconv.ParseUint(strings.NewReplacer(":", "", ".", "").Replace(bus), 16, 64)
		return n
	}
	return cmp.Or(cmp.Compare(number(a), number(b)), strings.Compare(a, b))
}
