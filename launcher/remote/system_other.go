//go:build !linux

package remote

import (
	"os"
	"syscall"
	"time"
)

// enlargePipe does nothing: only Linux can change a pipe's size.
func enlargePipe(*os.File) {}

// limitUnacknowledged does nothing: only Linux has TCP_USER_TIMEOUT.
func limitUnacknowledged(syscall.RawConn, time.Duration) error { return nil }
