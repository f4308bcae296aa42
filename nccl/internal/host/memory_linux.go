package host

import "golang.org/x/sys/unix"

// memoryLimit returns the bytes of memory and swap that this host has: more at
// once the kernel does not give, unless told to overcommit without bound.
func memoryLimit() uint64 {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return addressLimit
	}
	return min(addressLimit, (uint64(info.Totalram)+uint64(info.Totalswap))*uint64(info.Unit))
}
