package core

import (
	"context"
	"time"
)

// Comm is one rank's end of a communicator, as an engine provides it. It is
// safe for concurrent use.
type Comm interface {
	// NewStream returns an empty stream of the communicator's device. Streams
	// of one engine may carry calls of any of its communicators.
	NewStream() Stream
	// Alloc returns size zero bytes where the engine is fastest.
	Alloc(size int) (*Memory, error)

	// Submit enqueues work without waiting for a peer. Nothing of another
	// Submit comes between it. Calls of one communicator start in the order of
	// their submission, whichever streams they are on; one that cannot run ends
	// with the communicator's failure, which its stream and Failure report.
	Submit(on Stream, call Call)
	SubmitAll(work []Work)

	// Fail ends the communicator on this rank for the reason given, and tells
	// the other ranks if spread is set. Only the first failure counts. It does
	// not wait for what runs: calls in flight end soon after.
	Fail(reason error, spread bool)
	// Failure returns why the communicator ended: an *AbortedError, *LostError,
	// *StallError, *MismatchError or ErrClosed; nil if it has not.
	Failure() error
	// Failed is closed when Failure becomes non-nil.
	Failed() <-chan struct{}

	// Leave says goodbye to the other ranks, after which they do not miss this
	// one. All must have finished every call.
	Leave()
	// Close frees the communicator and waits for its goroutines. Calls in
	// flight end with its failure, ErrClosed if it has no other.
	Close() error
}

// Work is one call and the stream it goes to.
type Work struct {
	On   Stream
	Call Call
}

// Stream runs what it is given one after the other. It is safe for concurrent use.
//
// When a call fails, the functions behind it are skipped until a Wait has
// reported the failure: none runs on results that never came.
type Stream interface {
	// Call enqueues a function.
	Call(fn func())
	// Record enqueues a mark and returns it.
	Record() Mark
	// After holds what comes next until m is reached, and takes on the failure
	// that m came with.
	After(m Mark)
	// Wait blocks until all that was enqueued before has ended and returns its
	// first failure that no Wait has reported yet. The context's end stops the
	// waiting only; its cause is then the error.
	Wait(ctx context.Context) error
}

// Mark is a point in a stream.
type Mark interface {
	// Reached reports whether all before it has ended, when, and its failure.
	Reached() (at time.Time, ok bool, err error)
	// Wait blocks until it is reached or ctx ends, and returns the stream's
	// failure or ctx's cause.
	Wait(ctx context.Context) error
}
