package main

import (
	"os"
	"runtime/debug"
)

// What a launcher holds for itself, with output on its way, and for each host,
// most of it an SSH connection's buffers.
const (
	memoryOfJob  = 96 << 20
	memoryOfHost = 128 << 10
)

// boundMemory has the collector work harder once the launcher of a job on so
// many hosts has reached what it needs: it runs for days on a node where people
// log in, and would else grow to twice of that. A limit of the user's counts.
func boundMemory(hosts int) {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryOfJob + int64(hosts)*memoryOfHost)
	}
}
