// Package fabric carries bytes between the ranks of a communicator. A rank
// holds a [Port], its end of all links; the links are TCP connections ([TCP])
// or pipes inside a process ([Local]).
//
// # Model
//
// A link goes one way, from one rank to another, and is an ordered stream of
// bytes. Sending and receiving never block: they move what can be moved at
// once. Who cannot go on asks the Port to wait, which returns when one of the
// links named may have changed; so one goroutine drives any number of links,
// and stops at any moment.
//
// # Failure
//
// A link whose other end is gone gives [ErrBroken]. Ports say nothing about who
// is to blame: a rank that left, died or was aborted closes its links in the
// same way, and package control tells which it was.
package fabric

import "errors"

// ErrBroken is what sending to or receiving from a rank gives that has closed
// its Port or is gone.
var ErrBroken = errors.New("link is broken")

// Port is one rank's end of its links. One goroutine at a time drives a Port;
// only Wake may be called by others meanwhile.
type Port interface {
	// TrySend sends what rank to can take of p now and returns its length,
	// which may be 0.
	TrySend(to int, p []byte) (int, error)
	// TryRecv receives into p what has come from rank from and returns its
	// length, which may be 0.
	TryRecv(from int, p []byte) (int, error)
	// Wait blocks until something may have come from rank from, rank to may
	// take more, or Wake was called since the last Wait; a rank of -1 is not
	// waited for. It may return early.
	Wait(from, to int)
	// Wake ends a Wait, now or the next one.
	Wake()
	// Spin is how often it is worth trying again before a Wait.
	Spin() int
	// Close breaks all links. Bytes sent before still arrive.
	Close() error
}
