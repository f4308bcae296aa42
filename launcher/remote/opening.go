package remote

import (
	"net"
	"strings"
	"sync"
)

// opening is a connection that remembers the first bytes it received. What is
// no SSH identification is the reason that a server or a box in between gives
// for hanging up.
type opening struct {
	net.Conn

	mu    sync.Mutex
	bytes []byte
}

// openingSize is the longest identification line (RFC 4253, section 4.2).
const openingSize = 255

func (o *opening) Read(p []byte) (int, error) {
	n, err := o.Conn.Read(p)
	o.mu.Lock()
	defer o.mu.Unlock()
	if room := openingSize - len(o.bytes); room > 0 {
		o.bytes = append(o.bytes, p[:min(n, room)]...)
	}
	return n, err
}

// said returns the first line received so far.
func (o *opening) said() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	line, _, _ := strings.Cut(string(o.bytes), "\n")
	return strings.TrimSpace(line)
}

func isIdentification(line string) bool { return strings.HasPrefix(line, "SSH-") }
