package bootstrap

import (
	"context"
	"net"
	"sync"
	"time"
)

// maxHandshakes is how many connections a listener talks to at once. More wait
// in the kernel's queue.
const maxHandshakes = 256

// listener accepts connections that know the ID. Others are dropped.
type listener struct {
	keys    keys
	size    uint32 // that a hello must have; 0: any
	self    uint32 // rank that a hello must be for
	tcp     *net.TCPListener
	arrived chan arrival
	stop    context.CancelFunc
	running sync.WaitGroup
}

// arrival is a connection that passed the handshake.
type arrival struct {
	hello hello
	conn  *net.TCPConn
}

// serve starts the handshakes on tcp. The caller stops the listener.
func serve(tcp *net.TCPListener, k keys, self, size uint32) *listener {
	ctx, cancel := context.WithCancel(context.Background())
	l := &listener{keys: k, size: size, self: self, tcp: tcp, arrived: make(chan arrival), stop: cancel}
	l.running.Go(func() { l.accept(ctx) })
	return l
}

// accept runs until the listener is closed.
func (l *listener) accept(ctx context.Context) {
	defer context.AfterFunc(ctx, func() { l.tcp.Close() })()
	slots := make(chan struct{}, maxHandshakes)
	for {
		conn, err := l.tcp.AcceptTCP()
		if err != nil {
			if ctx.Err() != nil {
				return
			}
			// Out of descriptors, or a connection that ended in the queue: go
			// on, but not at full speed.
			select {
			case <-time.After(10 * time.Millisecond):
				continue
			case <-ctx.Done():
				return
			}
		}
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			conn.Close()
			return
		}
		l.running.Go(func() {
			defer func() { <-slots }()
			l.greet(ctx, conn)
		})
	}
}

// greet shakes hands and hands the connection over.
func (l *listener) greet(ctx context.Context, conn *net.TCPConn) {
	unbind := limit(ctx, conn, handshakeTimeout)
	h, err := l.keys.accepted(conn)
	if !unbind() || err != nil || h.to != l.self || l.size != 0 && h.size != l.size {
		conn.Close()
		return
	}
	select {
	case l.arrived <- arrival{h, conn}:
	case <-ctx.Done():
		conn.Close()
	}
}

// close ends the listener and waits for its goroutines.
func (l *listener) close() {
	l.stop()
	l.tcp.Close()
	l.running.Wait()
}

// limit ends what blocks on conn after timeout, if that is not 0, and when ctx
// ends. The function that it returns takes the limit away, and reports whether
// ctx has not ended.
func limit(ctx context.Context, conn net.Conn, timeout time.Duration) (unlimit func() bool) {
	if timeout > 0 {
		conn.SetDeadline(time.Now().Add(timeout))
	}
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	return func() bool {
		stopped := stop()
		conn.SetDeadline(time.Time{})
		return stopped
	}
}
