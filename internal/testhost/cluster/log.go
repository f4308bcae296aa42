//go:build linux

package cluster

import (
	"bytes"
	"sync"
)

// listening is what sshd logs once for each address family it listens on, after
// which it accepts connections.
var listening = []byte("Server listening on ")

// A bootLog keeps what a host's first process and sshd print, and notices when
// sshd is ready.
type bootLog struct {
	ready    chan struct{} // closed when sshd listens
	families int           // address families to wait for

	mu      sync.Mutex
	text    bytes.Buffer
	isReady bool
}

func newBootLog(families int) *bootLog {
	return &bootLog{ready: make(chan struct{}), families: families}
}

func (l *bootLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Write(p)
	if !l.isReady && bytes.Count(l.text.Bytes(), listening) >= l.families {
		l.isReady = true
		close(l.ready)
	}
	return len(p), nil
}

func (l *bootLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
