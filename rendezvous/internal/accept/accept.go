// Package accept is the loop of a server: connections in, a goroutine for each.
package accept

import (
	"context"
	"errors"
	"net"
	"sync"
	"syscall"
	"time"
)

// Each calls serve with every connection that comes to l, in a goroutine of its
// own, until ctx ends or l is closed, and then waits for these. It closes l when
// it returns, and a connection when serve has returned or ctx ends. Its error is
// that of accepting, nil after one of those two ends. An error closes the
// connections too: they could last as long as the job, and who waits to be
// accepted would never hear why.
func Each(ctx context.Context, l net.Listener, serve func(net.Conn)) error {
	ctx, cancel := context.WithCancel(ctx)
	var conns sync.WaitGroup
	defer cancel()
	defer conns.Wait()
	defer l.Close()
	defer context.AfterFunc(ctx, func() { l.Close() })()
	for {
		conn, err := l.Accept()
		switch {
		case err == nil:
		case ctx.Err() != nil || errors.Is(err, net.ErrClosed):
			return nil
		case outOfDescriptors(err):
			// The ranks that have connected will end; the one that waits is in
			// the listener's queue.
			timer := time.NewTimer(100 * time.Millisecond)
			select {
			case <-timer.C:
			case <-ctx.Done():
			}
			timer.Stop()
			continue
		default:
			cancel()
			return err
		}
		conns.Go(func() {
			defer conn.Close()
			defer context.AfterFunc(ctx, func() { conn.Close() })()
			serve(conn)
		})
	}
}

func outOfDescriptors(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ECONNABORTED)
}
