package remote

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// pipeSize is what the kernel lets everybody have (fs.pipe-max-size). The
// 64 KiB of a new pipe make writer and reader switch for every two frames of
// output.
const pipeSize = 1 << 20

// enlargePipe gives f room for more bytes in flight. Where that is refused, the
// pipe works as it is.
func enlargePipe(f *os.File) {
	raw, err := f.SyscallConn()
	if err != nil {
		return
	}
	raw.Control(func(fd uintptr) { unix.FcntlInt(fd, unix.F_SETPIPE_SZ, pipeSize) })
}

// limitUnacknowledged ends a connection whose data stay unacknowledged for
// limit. Without it the kernel repeats them for a quarter of an hour, and
// keep-alive probes are not sent meanwhile (RFC 5482).
func limitUnacknowledged(raw syscall.RawConn, limit time.Duration) error {
	var err error
	ctrl := raw.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(limit.Milliseconds()))
	})
	if ctrl != nil {
		return ctrl
	}
	return err
}
