package control

import (
	"errors"
	"net"
	"sync"
	"time"
)

var errAnswer = errors.New("an answer that is none")

// link is a connection to a neighbour, and what is to be sent over it.
type link struct {
	conn net.Conn
	peer int

	mu      sync.Mutex
	changed sync.Cond
	queue   [][]byte
	closing bool
}

func newLink(conn net.Conn, peer int) *link {
	l := &link{conn: conn, peer: peer}
	l.changed.L = &l.mu
	return l
}

// push queues a frame. It does not block.
func (l *link) push(frame []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closing {
		l.queue = append(l.queue, frame)
		l.changed.Signal()
	}
}

// write sends what is queued, until the link closes. When the connection
// breaks, the reader says so, after what came before.
func (l *link) write() {
	defer l.conn.Close()
	broken := false
	for {
		l.mu.Lock()
		for len(l.queue) == 0 && !l.closing {
			l.changed.Wait()
		}
		queue := l.queue
		l.queue = nil
		l.mu.Unlock()
		if len(queue) == 0 {
			return
		}
		for _, frame := range queue {
			if !broken {
				_, err := l.conn.Write(frame)
				broken = err != nil
			}
		}
	}
}

// close makes the writer send the rest and close the connection.
func (l *link) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closing {
		l.closing = true
		l.conn.SetWriteDeadline(time.Now().Add(flushTimeout))
		l.changed.Signal()
	}
}
