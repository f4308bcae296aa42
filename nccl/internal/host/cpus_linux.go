package host

import "golang.org/x/sys/unix"

// allowedCPUs returns the CPUs that this process may use.
func allowedCPUs() cpuSet {
	var mask unix.CPUSet
	var s cpuSet
	if unix.SchedGetaffinity(0, &mask) == nil {
		for i := range len(mask) * 64 {
			if mask.IsSet(i) {
				s.set(i)
			}
		}
	}
	return s
}
