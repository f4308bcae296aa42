package nccl

import (
	"context"
	"errors"
	"sync"
)

// Wait waits for each communicator, as [Comm.Wait] does, for all at once. The
// errors are joined.
func (cs Comms) Wait(ctx context.Context) error {
	return cs.each(func(c *Comm) error { return c.Wait(ctx) })
}

// Close closes all at once, as ranks of one communicator must. The errors are joined.
func (cs Comms) Close() error { return cs.each((*Comm).Close) }

// each runs fn for all communicators at once and joins what it returns.
func (cs Comms) each(fn func(*Comm) error) error {
	errs := make([]error, len(cs))
	var wg sync.WaitGroup
	for i, c := range cs {
		wg.Go(func() { errs[i] = fn(c) })
	}
	wg.Wait()
	return errors.Join(errs...)
}
