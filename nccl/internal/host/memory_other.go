//go:build !linux

package host

// memoryLimit returns how many bytes may be asked for at once.
func memoryLimit() uint64 { return addressLimit }
