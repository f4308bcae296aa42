package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
)

// output is one of gorun's standard streams as the ranks' output goes there.
// When it cannot be written any more the job has nowhere to speak to, so the
// first failure ends the job.
type output struct {
	name string
	w    *os.File
	end  context.CancelCauseFunc
}

// outputError is the cause of a job's end whose output could not be written.
type outputError struct {
	name string
	err  error
}

func (e *outputError) Error() string { return fmt.Sprintf("%s: %v", e.name, e.err) }
func (e *outputError) Unwrap() error { return e.err }

// abandoned reports whether nobody reads any more: "gorun … | head -1".
func (e *outputError) abandoned() bool { return errors.Is(e.err, syscall.EPIPE) }

func (o *output) Write(p []byte) (int, error) {
	n, err := o.w.Write(p)
	if err == nil {
		return n, nil
	}
	if path, ok := errors.AsType[*os.PathError](err); ok {
		err = path.Err // "write /dev/stdout" adds nothing to the name
	}
	failed := &outputError{o.name, err}
	o.end(failed)
	return n, failed
}
