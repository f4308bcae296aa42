//go:build !linux

package host

import "runtime"

// allowedCPUs returns the CPUs that this process may use: all, where nothing
// binds processes to CPUs.
func allowedCPUs() cpuSet {
	var s cpuSet
	for i := range runtime.NumCPU() {
		s.set(i)
	}
	return s
}
