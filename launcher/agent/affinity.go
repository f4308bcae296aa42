//go:build linux

package agent

import (
	"fmt"
	"math/bits"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/gorun/gorun/nccl/topo"
)

// maxCPUs is how many CPUs a kernel can have at most (NR_CPUS). The kernel refuses
// to fill a shorter mask than its own.
const maxCPUs = 8192

// affinity returns the CPUs that the calling thread may run on, which are those of
// its control group at most; nil if the kernel does not tell.
func affinity() []int {
	set := unix.NewCPUSet(maxCPUs)
	if unix.SchedGetaffinityDynamic(0, set) != nil {
		return nil
	}
	var cpus []int
	for i, word := range set {
		for w := uint64(word); w != 0; w &= w - 1 {
			cpus = append(cpus, i*bits.UintSize+bits.TrailingZeros64(w))
		}
	}
	return cpus
}

// bindThread makes cpus those of the calling thread, and of what it forks. The
// kernel leaves out CPUs that were taken away meanwhile; here that is an error, so
// that a rank is bound as was said or not started.
func bindThread(cpus []int) error {
	set := unix.NewCPUSet(maxCPUs)
	for _, cpu := range cpus {
		set.Set(cpu)
	}
	if err := unix.SchedSetaffinityDynamic(0, set); err != nil {
		return &bindError{cpus, err}
	}
	if now := affinity(); !slices.Equal(now, cpus) {
		return &bindError{cpus, fmt.Errorf("the host now allows %s of them", topo.FormatList(now))}
	}
	return nil
}

// bindError says that a rank could not be bound.
type bindError struct {
	cpus []int
	err  error
}

func (e *bindError) Error() string {
	return fmt.Sprintf("bind it to CPUs %s: %v", topo.FormatList(e.cpus), e.err)
}

func (e *bindError) Unwrap() error { return e.err }
