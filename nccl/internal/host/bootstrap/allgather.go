package bootstrap

import (
	"errors"
	"io"
	"sync"

	"golang.org/x/sync/errgroup"
)

// AllGather gives every rank the values of all, by rank, over the ring of
// ranks. Each value is at most 4 KiB. It goes both ways at once: in step s, a
// rank hands the value of rank-s to the next one and that of rank+s to the one
// before. So a value needs Size/2 steps, and where Size is even the last step
// goes one way only.
//
// What one direction sends depends only on what it received, so the two run on
// their own. When one fails, both connections are closed, so that no rank waits
// for another that has given up.
func AllGather(rank, size int, prev, next io.ReadWriteCloser, mine []byte) ([][]byte, error) {
	all := make([][]byte, size)
	all[rank] = mine
	forward, backward := size/2, (size-1)/2 // steps; they add up to size-1
	var both errgroup.Group
	both.Go(func() error {
		err := hand(prev, next, backward, all, func(s int) int { return (rank + s) % size })
		return closeAfter(err, prev, next)
	})
	both.Go(func() error {
		err := hand(next, prev, forward, all, func(s int) int { return (rank - s + size) % size })
		return closeAfter(err, prev, next)
	})
	return all, both.Wait()
}

// closeAfter closes conns if there is an error, and returns it.
func closeAfter(err error, conns ...io.Closer) error {
	if err != nil {
		for _, c := range conns {
			c.Close()
		}
	}
	return err
}

// hand sends value of(s) and receives value of(s+1) in each step s.
func hand(to io.Writer, from io.Reader, steps int, all [][]byte, of func(int) int) error {
	for s := range steps {
		var sending sync.WaitGroup
		var sendErr error
		send := all[of(s)]
		sending.Go(func() { sendErr = writeFrame(to, send) })
		received, err := readFrame(from)
		sending.Wait()
		if err = errors.Join(err, sendErr); err != nil {
			return err
		}
		all[of(s+1)] = received
	}
	return nil
}
