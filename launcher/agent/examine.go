//go:build linux

package agent

import (
	"golang.org/x/sys/unix"

	"github.com/gorun/gorun/launcher/wire"
)

// examine finds out what this host's condition is.
func examine() *wire.Examined {
	e := &wire.Examined{Time: timeNow().UnixNano(), LockedMemory: -1}
	var fs unix.Statfs_t
	if unix.Statfs("/dev/shm", &fs) == nil {
		e.SharedMemory = int64(fs.Bavail) * fs.Bsize
	}
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_MEMLOCK, &limit) == nil && limit.Cur != unix.RLIM_INFINITY {
		e.LockedMemory = int64(limit.Cur)
	}
	return e
}
