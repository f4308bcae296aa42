//go:build linux

package agent

import (
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/gorun/gorun/internal/envvar"
	"github.com/gorun/gorun/launcher/wire"
	"github.com/gorun/gorun/nccl/topo"
)

// seat is what a local rank gets of this host.
func (a *agent) seat(local int) wire.Seat {
	if local < len(a.start.Seats) {
		return a.start.Seats[local]
	}
	return wire.Seat{}
}

// Names of variables that choose devices.
const (
	visibleDevices = "CUDA_VISIBLE_DEVICES"
	deviceOrder    = "CUDA_DEVICE_ORDER"
	rdmaDevices    = "NCCL_IB_HCA"
)

// placeEnv adds to the environment that ranks share how devices are counted and
// which adapters serve them. Devices are numbered as placement numbers them,
// whatever the user has set; adapters are the user's first.
func placeEnv(env []string, m *share) []string {
	if !slices.ContainsFunc(m.Seats, func(s wire.Seat) bool { return s.Visible != nil }) {
		return env
	}
	env = setEnv(env, deviceOrder, "PCI_BUS_ID")
	if len(m.NICs) > 0 && !hasEnv(env, rdmaDevices) && !envvar.MatchesAny(rdmaDevices, m.Unset) {
		env = append(env, rdmaDevices+"="+"="+strings.Join(m.NICs, ",")) // "=": these names, not what begins like them
	}
	return env
}

// seatEnv returns what a rank's seat adds to env, what ranks share.
func (a *agent) seatEnv(env []string, s wire.Seat) (own []string) {
	add := func(name, value string) {
		if !hasEnv(env, name) && !envvar.MatchesAny(name, a.start.Unset) {
			own = append(own, name+"="+value)
		}
	}
	add("OMP_NUM_THREADS", strconv.Itoa(a.threads(s)))
	switch inherited, restricted := os.LookupEnv(visibleDevices); {
	case s.Visible == nil && restricted:
		add(visibleDevices, inherited) // what was set on this host for whatever runs here
	case s.Visible != nil && !slices.Equal(s.Visible, identifiers(a.inventory.Accelerators)):
		add(visibleDevices, strings.Join(s.Visible, ","))
	}
	return own
}

// identifiers names GPUs as a seat does.
func identifiers(gpus []topo.Accelerator) []string {
	var names []string
	for _, g := range gpus {
		names = append(names, g.UUID)
	}
	if slices.Contains(names, "") {
		for i, g := range gpus {
			names[i] = strconv.Itoa(g.Index)
		}
	}
	return names
}

// threads is how many threads a rank can run at once: the CPUs that it is bound
// to, or all, divided by the ranks that have the same.
func (a *agent) threads(s wire.Seat) int {
	if s.CPUs == nil {
		return max(1, runtime.NumCPU()/len(a.host().Ranks))
	}
	sharing := 0
	for _, other := range a.start.Seats {
		if slices.Equal(other.CPUs, s.CPUs) {
			sharing++
		}
	}
	return max(1, len(s.CPUs)/sharing)
}
